// The options of batchFetch, checked once.

import { aFunction, checkIsObject, oneOf, unboundedIntegerFrom } from "../../../core/contract/validate.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { type OptionTable, readOnly } from "../../format/option-table.ts";
import { aName } from "../../options/call-options.ts";

/** A client's call that goes to a batch. */
export interface BatchedCall {
  readonly endpoint: Endpoint;
  /** The body that the client sent. */
  readonly body: JsonObject;
  readonly headers: Headers;
}

/** The state of a call, for `onPending`. */
export interface PendingCall {
  /** The request's id in the store. */
  readonly id: string;
  /**
   * `waiting`: the request is stored and has no answer yet. `left`: the caller has gone; the
   * request continues, and a repeat of the call joins it. `ended`: the caller has its answer.
   */
  readonly state: "waiting" | "left" | "ended";
  /** In ms since 1970: the end of the provider's window for a batch sent now. */
  readonly expectedAt: number;
}

/** Options of `batchFetch`. */
export interface BatchFetchOptions {
  /**
   * Part of each request's id, and the job of its outcomes. Equal bodies in different jobs are
   * different requests. Set it in a service: stored answers do not expire. Default: none.
   */
  readonly job?: string;
  /**
   * Part of each request's id: the tenant of calls without the header `x-batchwise-tenant`.
   * Default: none.
   */
  readonly tenant?: string;
  /**
   * Part of each request's id if the call has no header `x-batchwise-id`. Distinguishes equal
   * bodies, such as ten samples of one prompt. Equal texts mean the same request.
   */
  readonly idOf?: (call: BatchedCall) => string;
  /**
   * In ms: lanes are flushed when no new call has come for this long, or when the oldest call has
   * waited 60 s. Infinity: only the dispatcher's thresholds close batches. Default 5_000.
   */
  readonly flushAfterMs?: number;
  /**
   * The answer to a call with `stream: true`. "refuse", the default: status 400. "whole": one event
   * stream with the whole answer once it is ready.
   */
  readonly streams?: "refuse" | "whole";
  /** Sends the calls that go to no batch. Default: the global `fetch` at creation. */
  readonly fetch?: typeof globalThis.fetch;
  /** Called when a call begins to wait, when its caller leaves, and when it has its answer. */
  readonly onPending?: (pending: PendingCall) => void;
}

export interface BatchFetchPlan {
  readonly job: string;
  readonly tenant: string;
  readonly idOf: ((call: BatchedCall) => string) | null;
  readonly flushAfterMs: number;
  readonly streams: "refuse" | "whole";
  readonly fetch: typeof globalThis.fetch;
  readonly onPending: ((pending: PendingCall) => void) | null;
}

const TABLE = {
  job: [aName],
  tenant: [aName],
  idOf: [aFunction, null],
  flushAfterMs: [unboundedIntegerFrom(0), 5_000],
  streams: [oneOf("refuse", "whole"), "refuse"],
  fetch: [aFunction],
  onPending: [aFunction, null],
} satisfies OptionTable<BatchFetchOptions>;
const HINTS = {
  "id customId": "it is `idOf` here: a function of the call",
  "timeout timeoutMs": "the client has `timeout`: give it two days, and `maxRetries: 0`",
  stream: 'it is `streams` here: "refuse", or "whole" for one stream with the whole answer',
};

export function batchFetchOptions(given: BatchFetchOptions): BatchFetchPlan {
  checkIsObject("options", given);
  const { job, tenant, fetch, ...plain } = readOnly(given, TABLE, "", HINTS);
  return { ...plain, job: job ?? "", tenant: tenant ?? "", fetch: fetch ?? globalThis.fetch };
}
