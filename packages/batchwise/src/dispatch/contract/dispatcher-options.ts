// Options of createDispatcher as the user gives them. Not in contract/types.ts: they name the store
// and account contracts, which use the types of that file.

import type { Clock } from "../../core/time/clock.ts";
import type { Account } from "./account.ts";
import type { OutputCheck } from "./checks.ts";
import type { PriceTable } from "./cost.ts";
import type { EndedBatch } from "./events.ts";
import type { Operation } from "./failures.ts";
import type { Store } from "./store/store.ts";
import type { JsonObject, LoggedOutcome, Thresholds } from "./types.ts";

/**
 * Number and delay of retries for failed requests. `onOutcome` uses the same delays, but never
 * stops retrying.
 */
export interface RetryOptions {
  /** Maximum charged tries, the first included. Default 3. */
  readonly attempts?: number;
  /**
   * Delay before the second try, in ms. Doubles for each later one up to `maxBackoffMs`.
   * Default 30_000.
   */
  readonly backoffMs?: number;
  /** Longest delay between tries, in ms. Default 3_600_000. */
  readonly maxBackoffMs?: number;
}

/** The context of an error passed to `onError`. */
export interface ErrorContext {
  /** The account's name; absent if the error concerns none. */
  readonly account?: string;
  /** The batch's key; absent if the error concerns none or several. */
  readonly batch?: string;
  /**
   * The account call that failed, or the dispatcher's own operation: `store`, `seal`, `work` on
   * batches, `deliver`, `prune`, or a listener of an `event`.
   */
  readonly operation: Operation | "store" | "seal" | "work" | "deliver" | "prune" | "event";
}

/** The address that outcomes are posted to, and the secret that signs them. */
export interface WebhookOptions {
  readonly url: string;
  /** Key of the signature header: an HMAC-SHA256 over `<delivery id>.<seconds>.<body>`. */
  readonly secret: string;
  /** Sends the posts. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Limits of price, in US dollars, as `estimate` counts them. */
export interface MaxPrice {
  /** By tenant. */
  readonly tenants?: Readonly<Record<string, number>>;
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
   * Merged under each request's body; the body wins. Not applied to batch lines. A body in a
   * provider's own format, such as `/v1/messages`, gets only `model`.
   */
  readonly requestDefaults?: JsonObject;
  /**
   * Checks each answer of the requests that this dispatcher enqueues. Returns null if the answer is
   * right, or a sentence that says why it is not: then the try is charged, and the last one ends
   * with the code `invalid_output`. An answer that was cut by its length, or a refusal, is not
   * retried. Only processes with `check` read such batches; others report CHECK_MISSING. Requests
   * to endpoints without text are refused. For a schema, and for a check of one job, see
   * `runBatch`. Default: none.
   */
  readonly check?: OutputCheck;
  /**
   * True: the next try of a request whose answer does not pass has that answer and the reason as
   * further turns of its `messages`, `input` or `contents`. They replace the turns of an earlier
   * try, and the stored body stays unchanged. A request without turns (`/v1/completions`), an empty
   * answer, and a line that would be too large for an account are retried unchanged. Default false.
   */
  readonly reask?: boolean;
  /**
   * Check chat completion bodies against OpenAI's types and ranges at `enqueue`. Unknown fields
   * pass, and stored bodies are never checked again. Default true; an account's own `checkBodies`
   * turns it off for the requests that it serves.
   */
  readonly checkBodies?: boolean;
  /**
   * Lease time of one operation on a batch, in ms. Default 90_000; must exceed every account's
   * `requestTimeoutMs`.
   */
  readonly leaseMs?: number;
  readonly retry?: RetryOptions;
  /**
   * Reports a batch to `onError` if it has not ended this many ms after it was sent, then once a
   * day. Default 93_600_000.
   */
  readonly stuckAfterMs?: number;
  /**
   * Prices for `estimate`. Default: `defaultPrices`; write `{ ...defaultPrices, ... }` to add to
   * it.
   */
  readonly prices?: PriceTable;
  /**
   * The most that the requests of a tenant may cost, in US dollars by `prices`, from its first
   * request on. What a request may cost is reserved when its batch is sealed, and corrected when
   * its answer comes; what would exceed the limit waits, and `onError` gets PRICE_LIMIT once. Such
   * requests share no batch with others. All processes that enqueue for a tenant name its limit;
   * the last one that starts decides, and `Infinity` lifts it. Requests for a model without a price
   * are refused. Default: none.
   */
  readonly maxPrice?: MaxPrice;
  /**
   * Prunes outcomes this many ms after they were recorded, within about ten minutes: see `prune`.
   * One process at a time prunes for all; give all of them the same value. Default Infinity:
   * everything is kept.
   */
  readonly retentionMs?: number;
  /**
   * Forgets the id of a request this many ms after it was pruned, within about ten minutes. A
   * forgotten id is new: enqueued again, the request runs again and is paid for again. Set it above
   * the age at which a caller may still repeat an `enqueue`. Default Infinity: ids are never
   * forgotten, at 100 to 200 bytes each.
   */
  readonly tombstoneRetentionMs?: number;
  /** Called at least once per outcome, by one process. A rejection is retried later. */
  readonly onOutcome?: (outcome: LoggedOutcome) => void | Promise<void>;
  /**
   * Called at least once per batch before it counts as done, by the process that ends it. Called
   * again after a rejection or `leaseMs`, and by another process after a crash. Parts of refused
   * batches are batches too.
   */
  readonly onBatch?: (batch: EndedBatch) => void | Promise<void>;
  readonly webhook?: WebhookOptions;
  /**
   * Policy for a lane that closes with fewer requests than any account takes: "wait", the default,
   * for more requests; or "fail". `onError` reports it either way.
   */
  readonly onTail?: "wait" | "fail";
  /**
   * Called for an error that a loop will retry: a store that does not answer, a provider that
   * refuses. Account problems (`ACCOUNT_PAUSED`, `ACCOUNT_FULL`, `ACCOUNT_UNAVAILABLE`) are
   * reported once until they end. Absent: `process.emitWarning` prints each code once per process.
   */
  readonly onError?: (error: unknown, context: ErrorContext) => void;
  /** For crash tests: awaited at named points between the steps of a batch. */
  readonly failpoint?: (name: string) => void | Promise<void>;
  /** Name of the processes of one pool in logs and leases. Default: random. */
  readonly owner?: string;
  /**
   * Time, for tests: `virtualClock()` of `batchwise/testing`. `now` is wall time in ms since 1970.
   */
  readonly clock?: Clock;
  readonly random?: () => number;
}

/**
 * A clock with all optional methods except `setImmediate`. `now` is wall time; `monotonic` never
 * goes back.
 */
export type DispatchClock = Required<Omit<Clock, "setImmediate" | "endOfTurn">>;
