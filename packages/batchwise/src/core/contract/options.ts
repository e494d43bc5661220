// Options of a batcher: as users give them, and as the engine uses them. After `resolveOptions` no
// option is optional.

import type { Clock } from "../time/clock.ts";
import type { RateLimiter } from "./limiter.ts";

/** How a batch's cost follows from its items. A function must not decrease when items are added. */
export type Measure<Item> = "sum" | "padded" | ((items: readonly Item[]) => number);

/**
 * How long a batch that is not full gathers, with `maxWaitMs` 0 and a free slot; see
 * {@link ConfigureOptions.gather}.
 */
export type Gather = "auto" | "turn" | "tick";

/** Policy for a submit to a full queue. */
export type OnFull = "wait" | "reject" | "drop-oldest";

/** Repeated handler calls for a batch that failed as a whole. */
export interface RetryOptions {
  /** Maximum calls of the handler in total, at least 1. */
  readonly attempts: number;
  /**
   * Pause before each further call, in ms: a number, or a function of the number of calls so far
   * and the error. Default 0. An error's `retryAfterMs` or `retry-after` header lengthens it.
   */
  readonly backoffMs?: number | ((attempt: number, error: unknown) => number) | undefined;
  /** Whether an error is worth another call. Default: always. */
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/**
 * A store of results that the user provides. The key is that of `dedupe`, or
 * `${key.length}:${key}=${dedupeKey}` for an item with a `key`. `undefined` and `null` are misses,
 * as in Redis, `localStorage` and cache-manager. A failed look-up counts as a miss, with a warning.
 * An item's wait starts after its look-up; its deadline and latency count from the submit.
 */
export interface BatchCache<Result> {
  get(key: string): Result | null | undefined | PromiseLike<Result | null | undefined>;
  set(key: string, result: Result): unknown;
  /** Needed only for `forget()`. */
  delete?(key: string): unknown;
  /**
   * True: `null` is an ordinary result, for a cache whose miss is `undefined`, such as a Map's.
   * Default false: a `null` result is not stored, and the first one warns.
   */
  readonly nullIsResult?: boolean | undefined;
}

/** Limits that may change while a batcher runs. Durations are in ms. */
export interface ConfigureOptions {
  /** Maximum items per batch. Integer >= 1. Default 32. */
  readonly maxBatchSize?: number | undefined;
  /**
   * Maximum cost of a batch, exceeded only by a single oversize item that runs alone. > 0. Default
   * Infinity. With `"learn"` the batcher finds the best cost for this handler from its run times:
   * then no item is too large, `maxBatchSize` defaults to 1,024, and free slots share the waiting
   * items.
   */
  readonly maxBatchCost?: number | "learn" | undefined;
  /**
   * Maximum time the oldest item waits for a fuller batch while a slot is free. Default 0: no wait.
   * Infinity: until its batch is full. A deadline sends a lane earlier: 1.25 times the 95th
   * percentile of recent run times before it, plus a millisecond.
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * With `maxWaitMs > 0`: this many waiting items are sent at once. 1 to maxBatchSize; follows
   * maxBatchSize while unset.
   */
  readonly preferredBatchSize?: number | undefined;
  /**
   * With `maxWaitMs` 0 and a free slot, how long a batch that is not full gathers. `"turn"`: until
   * the promise jobs of the running task are done. `"tick"`: until the end of the current pass of
   * the event loop, so that requests of many sockets share a batch. `"auto"` (default): `"tick"`
   * while the last batch settled in the turn in which it began, else `"turn"`; a handler that
   * becomes slow is detected within eight batches. After 16 runs in a row of less than 0.1 ms with
   * items of one turn each, `"auto"` is `"tick"` for only two batches in 16. With an injected
   * `clock`, `"auto"` is `"turn"`, and `"tick"` needs `clock.setImmediate`.
   */
  readonly gather?: Gather | undefined;
  /** Maximum batches that run at the same time. Integer >= 1 or Infinity. Default 1. */
  readonly concurrency?: number | undefined;
  /** Maximum waiting items before `onFull` applies. Integer >= 1 or Infinity. Default 10,000. */
  readonly maxQueueSize?: number | undefined;
  /**
   * Answer items within so long of their submit, and refuse the others (OVERLOADED) as soon as it
   * is certain that they cannot be: of the lowest priority first, then the oldest. The batcher
   * learns how long runs take; `maxBatchSize` is 1,024 where it was never given. All other options
   * stay hard limits; a wait (`maxWaitMs`) ends in time. An item that has started is answered, late
   * or not. In milliseconds, > 0. Not together with `prefetch`. Default Infinity: no target.
   */
  readonly targetLatencyMs?: number | undefined;
}

/**
 * All options of a batcher. An error thrown by a user function rejects one item, never the batcher.
 */
export interface BatchOptions<Item, Result> extends ConfigureOptions {
  /** The cost of an item: finite, >= 0. Default: 1 for every item. */
  readonly cost?: ((item: Item) => number) | undefined;
  /**
   * A batch's cost: the `"sum"` of its items' (default), `"padded"` (items x largest), or a
   * function of the items, which must not decrease when items are added. With `prepareItem` the
   * function gets the prepared items.
   */
  readonly batchCost?: Measure<Item> | undefined;
  /** Policy for a single item over `maxBatchCost`. Default `"reject"` (ITEM_TOO_LARGE). */
  readonly oversize?: "reject" | "alone" | undefined;
  /**
   * Asked before a batch is closed: while it refuses, the batch waits and grows. Several batchers
   * may share one. Each handler call uses one call and its batch's cost. Not together with
   * `prefetch`.
   */
  readonly limiter?: RateLimiter | undefined;
  /**
   * Maximum batches prepared ahead of a free slot. Only for handlers with `prepare`. Integer >= 0.
   * Default 0.
   */
  readonly prefetch?: number | undefined;
  /** Policy for a submit to a full queue. Default `"wait"`. */
  readonly onFull?: OnFull | undefined;
  /** Items of different keys never share a batch. */
  readonly key?: ((item: Item) => string) | undefined;
  /** Equal items that wait or run share one place and one computation. */
  readonly dedupe?: ((item: Item) => string) | undefined;
  /** Results by `dedupe` key. */
  readonly cache?: BatchCache<Result> | undefined;
  /**
   * Order of the waiting items. Default `"fifo"`. `"length"` is for handlers that pad all items to
   * the longest: an item's cost is its length, `batchCost` is `"padded"`, and items with the least
   * padding share a batch. The first waiting item (by priority, tenant and age) is in every batch;
   * no item waits for a fuller batch. Free slots share the waiting items.
   */
  readonly order?: "fifo" | "length" | undefined;
  /** Tenants share batches by cost (start-time fair queueing). */
  readonly fairBy?: ((item: Item) => string) | undefined;
  /**
   * `submitMany` calls of at most this many items go before larger ones: they count as submitted
   * half of `priorityAgingMs` earlier. A waiting item that such a call joins (`dedupe`) does so,
   * too. Integer >= 0. Default 0: off.
   */
  readonly smallCallFirst?: number | undefined;
  /**
   * The waiting time that equals one step of `priority`, in ms. The item with the smallest
   * `submittedAt - priority * priorityAgingMs` goes first. > 0. Default 10,000. With Infinity,
   * priority decides first, then small calls go first, then arrival decides.
   */
  readonly priorityAgingMs?: number | undefined;
  /** Default deadline of an item, in ms from its submit. > 0. Default: none. */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum duration of a handler call, in ms. After it the callers get HANDLER_TIMEOUT and the
   * slot is free. > 0.
   */
  readonly handlerTimeoutMs?: number | undefined;
  /** Repeated calls for a batch that failed as a whole. Default: none. */
  readonly retry?: RetryOptions | undefined;
  /** Splits a failed batch in halves until each failing item is found. Default false. */
  readonly isolateFailures?: boolean | undefined;
  /**
   * A label for metrics and batch ids and, if given, for messages. Default: the handler's name,
   * `Class.method` of a decorated method, or `"batch"`.
   */
  readonly name?: string | undefined;
  /**
   * Called at each submit, in the caller's async context. The handler gets its value with the item.
   */
  readonly captureContext?: (() => unknown) | undefined;
  /** Time, for tests and simulation. */
  readonly clock?: Clock | undefined;
  /** A random number in [0, 1), for tests and simulation. */
  readonly random?: (() => number) | undefined;
}

/** All options present and defined. */
type Filled<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The retry policy with all defaults filled in. */
export type ResolvedRetry = Filled<RetryOptions>;

/** Options without a default: undefined if not given. */
type WithoutDefault = "limiter" | "key" | "dedupe" | "cache" | "fairBy" | "captureContext";

type GivenOptions = BatchOptions<unknown, unknown>;

/** The options in force: every limit is a number; a function that was not given is undefined. */
export interface ResolvedOptions
  extends Filled<Omit<GivenOptions, WithoutDefault | "retry" | "maxBatchCost">>,
    Required<Pick<GivenOptions, WithoutDefault>> {
  /** Infinity if there is no limit or it is learned. */
  readonly maxBatchCost: number;
  /** True with `maxBatchCost: "learn"`. */
  readonly learnsBatchCost: boolean;
  readonly retry: ResolvedRetry | undefined;
  /** Infinity if there is none. */
  readonly timeoutMs: number;
  /** Infinity if there is none. */
  readonly handlerTimeoutMs: number;
}

/** The options in force, for users. */
export interface ShownOptions extends Omit<ResolvedOptions, "maxBatchCost"> {
  /** Infinity if there is none. */
  readonly maxBatchCost: number | "learn";
}
