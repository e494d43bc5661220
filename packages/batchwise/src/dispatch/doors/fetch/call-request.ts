// Makes the stored request of a call. Its id is a digest of tenant, job, endpoint and body, so an
// equal call finds the same request. The order of the body's top-level keys does not count.

import { hash } from "node:crypto";
import { describe } from "../../../core/contract/errors.ts";
import { ignoreIfPromise } from "../../../core/contract/thenable.ts";
import type { Account } from "../../contract/account.ts";
import type { DispatchRequest, Endpoint, JsonObject } from "../../contract/types.ts";
import type { Defaults } from "../../requests/enqueue/defaults.ts";
import type { BatchFetchPlan } from "./batch-fetch-options.ts";
import { CallError, type Target } from "./read-call.ts";

export interface CallRequestInput {
  readonly target: Target;
  readonly body: JsonObject;
  readonly headers: Headers;
  readonly plan: BatchFetchPlan;
  readonly defaults: Defaults;
  readonly accounts: Iterable<Account>;
  /** In ms since 1970. */
  readonly now: number;
}

/**
 * Format of the answer: plain JSON, embeddings in base64, or an event stream with or without a
 * final usage chunk.
 */
export type AnswerForm = "plain" | "base64" | "events" | "eventsWithUsage";

export interface CallRequest {
  readonly request: DispatchRequest & { readonly id: string; readonly endpoint: Endpoint };
  readonly form: AnswerForm;
}

/** Throws CallError for a call that a batch cannot run. */
export function callRequest(input: CallRequestInput): CallRequest {
  const { target, headers, plan, defaults, now } = input;
  const { endpoint } = target;
  const { form, given } = withoutForm(input);
  const betas = betasOf(headers, input.accounts, endpoint);
  const body = inOrder(defaults.bodyOf({ body: given }, endpoint));
  const tenant = headers.get("x-batchwise-tenant") ?? plan.tenant;
  const sample = headers.get("x-batchwise-id") ?? sampleOf(plan.idOf?.({ endpoint, body: input.body, headers }));
  const digest = hash("sha256", JSON.stringify([tenant, plan.job, endpoint, betas, sample, body]), "base64url");
  const [priority, deadlineMs] = [wholeNumber(headers, "priority"), wholeNumber(headers, "deadline-ms")];
  const request = {
    ...{ id: `fetch-${digest}`, endpoint, body },
    ...(tenant === "" ? {} : { tenant }),
    ...(plan.job === "" ? {} : { job: plan.job }),
    ...(priority === null ? {} : { priority }),
    ...(deadlineMs === null ? {} : { deadlineAt: now + deadlineMs }),
  };
  return { request, form };
}

/** Other values, such as a promise or NaN, would be equal in all calls. */
function sampleOf(id: unknown): string | number {
  if (id === undefined || id === null) return "";
  if (typeof id === "string" || (typeof id === "number" && Number.isFinite(id))) return id;
  ignoreIfPromise(id);
  throw new CallError(400, "invalid_id", `Expected \`idOf\` to return a string, got ${describe(id)}.`);
}

interface Formless {
  readonly form: AnswerForm;
  /** The body to send, equal for all answer forms. */
  readonly given: JsonObject;
}

/**
 * Removes the fields that only set the answer's format, so that all forms of a call are the same
 * request.
 */
function withoutForm({ target, body, plan }: CallRequestInput): Formless {
  const { stream, stream_options: streamOptions, encoding_format: format, ...rest } = body;
  if (target.isStream || stream === true) {
    if (plan.streams === "refuse") {
      const way = 'ask without `stream: true`, or make the `fetch` with `streams: "whole"`';
      throw new CallError(400, "stream_not_supported", `A batch gives no stream: ${way}.`);
    }
    const hasUsage = (streamOptions as { include_usage?: unknown } | undefined)?.include_usage === true;
    return { form: hasUsage ? "eventsWithUsage" : "events", given: rest };
  }
  if (target.endpoint === "/v1/embeddings" && (format === "base64" || format === "float")) {
    return { form: format === "base64" ? "base64" : "plain", given: rest };
  }
  const { stream: _off, ...given } = body;
  return { form: "plain", given };
}

function wholeNumber(headers: Headers, name: string): number | null {
  const text = headers.get(`x-batchwise-${name}`);
  if (text === null) return null;
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value)) return value;
  throw new CallError(
    400,
    "invalid_header",
    `Expected the header x-batchwise-${name} to be a whole number, got "${text}".`,
  );
}

/**
 * Sorts the top-level keys, because stores compare bodies as text. Nested order is kept: a model
 * may depend on it.
 */
function inOrder(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The call's beta versions. Throws for one that its account lacks: a batch sends the account's
 * versions only.
 */
function betasOf(headers: Headers, accounts: Iterable<Account>, endpoint: Endpoint): string[] {
  const named = ["anthropic-beta", "openai-beta"].flatMap((name) => headers.get(name)?.split(",") ?? []);
  const betas = [...new Set(named.map((beta) => beta.trim()))].filter((beta) => beta !== "").sort();
  const serving = [...accounts].filter(({ capabilities }) => capabilities.endpoints.includes(endpoint));
  const missing = betas.find((beta) => !serving.every((account) => account.betas?.includes(beta)));
  if (missing === undefined) return betas;
  const way = `make the account with \`betas: ["${missing}"]\``;
  throw new CallError(400, "beta_not_supported", `A batch has the beta versions of its account: ${way}.`);
}
