// Converts xAI's batches, pages and results to our types. Batches have no state: it follows from
// counts and a cancel. Times are days ("2026-09-23") over REST. Trusts no type. Pure.

import type { ListPage, ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Failure } from "../../contract/failures.ts";
import type { Endpoint, JsonObject, Usage } from "../../contract/types.ts";
import { errorIn } from "../../format/error-words.ts";
import { readTag } from "../shapes/batch-names.ts";
import { count, figuresOf } from "../shapes/counts.ts";
import { errorAnswer } from "../shapes/gemini/answer.ts";
import { noListError } from "../shapes/lines/list-rows.ts";
import { answeredOrNot } from "../shapes/openai/no-answer.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toUsage } from "../shapes/usage.ts";
import { toFailure } from "./classify.ts";

/** Errors may come as words without a code: a bad parameter is not to look like an outage. */
const OF_THE_REQUEST = /not support|invalid|malformed|must be|too long|exceeds/i;
const OF_THE_SERVICE = /\brate\b|quota|per (?:second|minute|hour|day)|timed? ?out|internal/i;
/** In google.rpc.Code. */
const INVALID_ARGUMENT = 3;

interface Counts {
  readonly total: number;
  readonly pending: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export function toProviderBatch(wire: unknown): ProviderBatch {
  const batch = objectOf(wire);
  const id = text(batch.batch_id);
  if (id === null) throw new Error("The provider answered with a batch that has no batch_id.");
  const reason = text(batch.cancel_by_xai_message);
  const counts = countsOf(batch.state);
  const { total, succeeded, failed } = counts;
  const state = stateOf(counts, reason, text(batch.cancel_time) !== null);
  const ran = succeeded + failed;
  const figures = figuresOf(total, succeeded, failed, ran + counts.cancelled);
  const hasEnded = state === "done" || state === "cancelled" || state === "failed";
  return {
    id,
    state,
    rawState: state,
    createdAt: timeOf(batch.create_time),
    // `expire_time` is a month away: the batch is kept until then.
    expiresAt: null,
    tag: readTag(text(batch.name)),
    inputFileId: text(batch.input_file_id),
    ...figures,
    ran: hasEnded ? figures.ran : null,
    resultRefs: hasEnded && ran > 0 ? [id] : [],
    failure: failureOf(state, reason),
  };
}

/** While requests are still pending, only a reason that is about the account. */
function failureOf(state: ProviderState, reason: string | null): Failure | null {
  if (reason === null) return null;
  const failure = toFailure(reason);
  return state === "failed" || failure.kind === "authOrBilling" ? failure : null;
}

/** A batch that xAI cancels has failed; counts stay at 0 where its file is to blame. */
function stateOf({ total, pending, cancelled }: Counts, reason: string | null, isCancelled: boolean): ProviderState {
  if (reason !== null || isCancelled) {
    if (pending > 0) return "cancelling";
    return reason === null ? "cancelled" : "failed";
  }
  if (total === 0) return "validating";
  if (pending > 0) return "running";
  return cancelled > 0 ? "cancelled" : "done";
}

function countsOf(state: unknown): Counts {
  const given = objectOf(state);
  return {
    total: count(given.num_requests),
    pending: count(given.num_pending),
    succeeded: count(given.num_success),
    failed: count(given.num_error),
    cancelled: count(given.num_cancelled),
  };
}

/** 0 for a day without a time: the batch must never count as older than its create. */
function timeOf(value: unknown): number {
  const time = /T\d/.test(text(value) ?? "") ? Date.parse(String(value)) : Number.NaN;
  return Number.isNaN(time) ? 0 : time;
}

export function toListPage(wire: unknown): ListPage {
  return { batches: rowsIn(wire, "batches").map(toProviderBatch), next: nextOf(wire) };
}

/**
 * The rows of a page. Throws for an answer without them: an unlisted batch counts as never created
 * and is sent again. JSON of protocol buffers may have null for an empty list, or leave it out.
 */
export function rowsIn(wire: unknown, field: "batches" | "data" | "results"): readonly unknown[] {
  const page = objectOf(wire);
  const rows = page[field];
  if (Array.isArray(rows)) return rows;
  if (rows === null || (rows === undefined && Object.hasOwn(page, "pagination_token"))) return [];
  throw noListError(`an array \`${field}\``, wire);
}

/** The `pagination_token` of the next page; null at the end. */
export function nextOf(wire: unknown): string | null {
  return text(objectOf(wire).pagination_token);
}

export function toResultLine(wire: unknown, batch: ProviderBatch, endpoint: Endpoint): ResultLine {
  const { batch_request_id: name, batch_result: result, error_message: words } = objectOf(wire);
  const customId = text(name);
  if (customId === null) throw new DispatchError("RESULTS_UNREADABLE", "A result has no batch_request_id.");
  const { response, error } = objectOf(result);
  const fault = faultOf(error, text(words));
  if (fault !== null) return { customId, ...errorAnswer(fault, batch.state === "cancelled") };
  const body = jsonObject(objectOf(response).chat_get_completion);
  if (body === null) return { customId, ...errorAnswer({ message: "xAI gave neither answer nor error." }, false) };
  const line = { customId, response: { statusCode: 200, body }, error: null, usage: usageOf(body) };
  return answeredOrNot(line, endpoint);
}

/** A google.rpc.Status, or plain words; null for no error. Code 0 is OK. */
function faultOf(error: unknown, words: string | null): { readonly code?: number; readonly message: string } | null {
  const { code } = objectOf(error);
  const said = errorIn(error).message ?? words;
  const number = code === undefined || code === null ? Number.NaN : Number(code);
  if (said === null && !(number > 0)) return null;
  const message = said ?? "The provider gave no reason.";
  if (!Number.isNaN(number)) return { code: number, message };
  const all = `${text(code) ?? ""} ${message}`;
  return OF_THE_REQUEST.test(all) && !OF_THE_SERVICE.test(all) ? { code: INVALID_ARGUMENT, message } : { message };
}

/** xAI's `completion_tokens` leave out the reasoning, which `total_tokens` includes. */
function usageOf({ usage }: JsonObject): Usage | null {
  const { completion_tokens: said, completion_tokens_details: details, prompt_tokens: prompt } = objectOf(usage);
  const reasoning = count(objectOf(details).reasoning_tokens);
  const whole = count(prompt) + count(said) + reasoning;
  const isApart = reasoning > 0 && count(objectOf(usage).total_tokens) >= whole;
  return toUsage(isApart ? { ...objectOf(usage), completion_tokens: count(said) + reasoning } : usage);
}
