// Converts Gemini's wire format to our types: operations, whose metadata is the batch, and result
// lines. Trusts no type. Pure.

import type { BatchName, ListPage, ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError, UnnamedResults } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";
import type { Answered } from "../shapes/answered.ts";
import { readTag } from "../shapes/batch-names.ts";
import { figuresOf, timeOf } from "../shapes/counts.ts";
import { chatAnswer, errorAnswer, nativeAnswer } from "../shapes/gemini/answer.ts";
import { embeddingAnswer } from "../shapes/gemini/embedding.ts";
import { count } from "../shapes/gemini/usage.ts";
import { toState } from "../shapes/google/google-jobs.ts";
import { noListError } from "../shapes/lines/list-rows.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toFailure } from "./classify.ts";

/**
 * A batch expires after this time and gives no results (ai.google.dev/gemini-api/docs/batch-api).
 */
const WINDOW_MS = 48 * 3_600_000;
const CANCELLED = 1;

export function toProviderBatch(wire: unknown): ProviderBatch {
  const operation = objectOf(wire);
  const batch = objectOf(operation.metadata);
  const id = text(operation.name) ?? text(batch.name);
  if (id === null) throw new Error("The provider answered with a batch that has no name.");
  const state = stateOf(operation, batch);
  const stats = objectOf(batch.batchStats);
  const total = count(stats.requestCount);
  const figures = figuresOf(total, count(stats.successfulRequestCount), count(stats.failedRequestCount));
  const createdAt = timeOf(batch.createTime);
  return {
    id,
    state,
    rawState: text(batch.state) ?? "",
    createdAt: createdAt ?? 0,
    expiresAt: createdAt === null ? null : createdAt + WINDOW_MS,
    tag: readTag(text(batch.displayName)),
    inputFileId: text(objectOf(batch.inputConfig).fileName),
    ...figures,
    // Cancelled and expired batches give no results, even if requests ran.
    ran: state === "done" ? figures.ran : null,
    resultRefs: refsOf(id, outputOf(wire)),
    failure: state === "failed" ? toFailure(operation.error) : null,
  };
}

/** Fields of a page without batches: Google omits empty fields. */
const BARE: ReadonlySet<string> = new Set(["nextPageToken", "unreachable"]);

/**
 * Throws for an answer that is no list: an unlisted batch counts as never created and is sent
 * again.
 */
export function toListPage(wire: unknown): ListPage {
  const page = jsonObject(wire);
  const rows = page?.operations;
  const isEmpty = page !== null && rows === undefined && Object.keys(page).every((name) => BARE.has(name));
  if (!isEmpty && !Array.isArray(rows)) {
    throw noListError("an array `operations`", wire);
  }
  return { batches: (rows ?? []).map(toProviderBatch), next: text(page?.nextPageToken) };
}

/** The state. If the metadata has none, the operation's `done` and `error` decide. */
function stateOf(operation: JsonLike, batch: JsonLike): ProviderState {
  const named = toState(text(batch.state) ?? "");
  if (named !== null) return named;
  if (operation.done !== true) return "validating";
  if (operation.error === undefined) return "done";
  return objectOf(operation.error).code === CANCELLED ? "cancelled" : "failed";
}

/**
 * The results, which are in the batch's metadata and, after its end, in the operation's response.
 */
function outputOf(wire: unknown): JsonLike {
  const { metadata, response } = objectOf(wire);
  const output = jsonObject(objectOf(metadata).output);
  return output ?? objectOf(response);
}

function refsOf(id: string, output: JsonLike): string[] {
  const file = text(output.responsesFile);
  if (file !== null) return [file];
  return inlineOf(output) === null ? [] : [id];
}

function inlineOf(output: JsonLike): readonly unknown[] | null {
  const { inlinedResponses } = objectOf(output.inlinedResponses ?? output.inlinedEmbedContentResponses);
  return Array.isArray(inlinedResponses) ? inlinedResponses : null;
}

/** The results inside an operation. */
export function inlineResults(wire: unknown): readonly unknown[] {
  return inlineOf(outputOf(wire)) ?? [];
}

/** Converts one result: a file line with its key, or an inline one with its metadata. */
export function toResultLine(value: unknown, batch: ProviderBatch, name: BatchName): ResultLine {
  const { key, metadata, response, error } = objectOf(value);
  const customId = text(key) ?? text(objectOf(metadata).key);
  if (customId === null) throw nameless(batch);
  const answer = jsonObject(response);
  if (answer === null) return { customId, ...errorAnswer(error, batch.state === "cancelled") };
  return { customId, ...answerOf(answer, customId, batch, name) };
}

/** The error for inline results without metadata, which have occurred (js-genai issue 1191). */
function nameless({ id, resultRefs }: ProviderBatch): DispatchError {
  if (!resultRefs.includes(id)) return new DispatchError("RESULTS_UNREADABLE", "A result has no key.");
  return new UnnamedResults(
    "The provider answers inline requests without their metadata, so the answers match no request.",
  );
}

function answerOf(answer: JsonObject, customId: string, { createdAt }: ProviderBatch, name: BatchName): Answered {
  switch (name.endpoint) {
    case "/v1/chat/completions":
      return chatAnswer(answer, { customId, model: name.model, createdAt });
    case "/v1/embeddings":
      return embeddingAnswer(answer, name.model);
    default:
      return nativeAnswer(answer);
  }
}

type JsonLike = { readonly [key: string]: unknown };
