// The options of createDispatcher, as the user gives them. Not in contract/types.ts, because they
// name the store and the account contracts, which are themselves written in the words of types.ts.

import type { Clock } from "../../core/time/clock.ts";
import type { Account, Operation } from "../contract/account.ts";
import type { PriceTable } from "../contract/cost.ts";
import type { EndedBatch } from "../contract/events.ts";
import type { Store } from "../contract/store.ts";
import type { JsonObject, LoggedOutcome, Thresholds } from "../contract/types.ts";

/**
 * How often, and how late, a failed request is tried again. Calls of `onOutcome` wait alike,
 * without an end.
 */
export interface RetryOptions {
  /** Charged tries in total, the first included. Default 3. */
  readonly attempts?: number;
  /**
   * Wait before the second try, doubled for each later one up to `maxBackoffMs`. Default 30_000.
   */
  readonly backoffMs?: number;
  /** Default 3_600_000. */
  readonly maxBackoffMs?: number;
}

/** What an error told to `onError` is about. */
export interface ErrorContext {
  /** The account's name; absent where it is about none. */
  readonly account?: string;
  /** The batch's key; absent where it is about none, or about several. */
  readonly batch?: string;
  /**
   * The call of the account that failed, or the dispatcher's own: `store`, `seal`, `work` on
   * batches, `deliver`, `prune`, or a listener of an `event`.
   */
  readonly operation: Operation | "store" | "seal" | "work" | "deliver" | "prune" | "event";
}

/** Where outcomes are posted, and the secret that signs them. */
export interface WebhookOptions {
  readonly url: string;
  /** Key of the signature header: an HMAC-SHA256 over `<delivery id>.<seconds>.<body>`. */
  readonly secret: string;
  /** What sends it. Default: the platform's own. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Options of `createDispatcher`. */
export interface DispatcherOptions {
  readonly store: Store;
  /**
   * At least one; names are unique. A request may go to any account that serves its endpoint and
   * model.
   */
  readonly accounts: readonly Account[];
  /** Defaults: 50_000 requests, 200_000_000 bytes, Infinity tokens, 7_200_000 ms. */
  readonly thresholds?: Partial<Thresholds>;
  /**
   * Merged under each request's body (the body wins), not into full batch lines. A body in a
   * provider's own form, such as of `/v1/messages`, gets `model` alone.
   */
  readonly requestDefaults?: JsonObject;
  /**
   * Check bodies of chat completions against OpenAI's types and ranges at `enqueue`. Fields that
   * are unknown pass, and what is stored already is never checked. Default true; an account's own
   * `checkBodies` turns it off for what it serves.
   */
  readonly checkBodies?: boolean;
  /**
   * How long one operation on a batch is owned. Default 90_000; must exceed every account's
   * `requestTimeoutMs`.
   */
  readonly leaseMs?: number;
  readonly retry?: RetryOptions;
  /**
   * A batch that has not ended so long after it was sent is told to `onError`, then once a day.
   * Default 93_600_000.
   */
  readonly stuckAfterMs?: number;
  /**
   * What `estimate` reckons with. Default: `defaultPrices`; write `{ ...defaultPrices, ... }` to
   * add to it.
   */
  readonly prices?: PriceTable;
  /**
   * Prunes outcomes so many milliseconds after they were recorded, within ten minutes or so: see
   * `prune`. One process at a time does it for all; give all of them the same. Default Infinity:
   * everything is kept.
   */
  readonly retentionMs?: number;
  /**
   * Forgets the id of a request so many milliseconds after it was pruned, within ten minutes or so.
   * An id that is forgotten is new: enqueued again, the request runs again and is paid again. Set
   * it above the age at which a caller may still repeat an `enqueue`. Default Infinity: every id is
   * known for ever, at 100 to 200 bytes each.
   */
  readonly tombstoneRetentionMs?: number;
  /** Called at least once per outcome, by one process; a rejection is tried again later. */
  readonly onOutcome?: (outcome: LoggedOutcome) => void | Promise<void>;
  /**
   * Called at least once per batch, before it counts as done: by the process that ends it, again
   * after a rejection or after `leaseMs`, and by another one after a crash. Parts of refused
   * batches are batches too.
   */
  readonly onBatch?: (batch: EndedBatch) => void | Promise<void>;
  readonly webhook?: WebhookOptions;
  /**
   * What becomes of requests that are fewer than any account takes in a batch, once their lane
   * would close: "wait", the default, for more; or "fail". `onError` is told either way.
   */
  readonly onTail?: "wait" | "fail";
  /**
   * Told what a loop could not do and will try again: a store that does not answer, a provider that
   * refuses. Trouble of an account (`ACCOUNT_PAUSED`, `ACCOUNT_FULL`, `ACCOUNT_UNAVAILABLE`) is
   * told once until it is over. Absent: each code is printed once a process, by
   * `process.emitWarning`.
   */
  readonly onError?: (error: unknown, context: ErrorContext) => void;
  /** For crash tests: awaited at the named points between the steps of a batch. */
  readonly failpoint?: (name: string) => void | Promise<void>;
  /** Shared by the processes of one pool in logs and leases. Default: random. */
  readonly owner?: string;
  /**
   * Time, for tests: `virtualClock()` of `batchwise/testing`. `now` is wall time in epoch
   * milliseconds.
   */
  readonly clock?: Clock;
  readonly random?: () => number;
}

/**
 * A clock whose optional methods are there, but for `setImmediate`: `now` is wall time, `monotonic`
 * never goes back.
 */
export type DispatchClock = Required<Omit<Clock, "setImmediate">>;
