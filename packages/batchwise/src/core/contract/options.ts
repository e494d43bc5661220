// The options of a batcher as users give them, and as the engine has them: behind `resolveOptions`
// no option is optional.

import type { Clock } from "../time/clock.ts";
import type { RateLimiter } from "./limiter.ts";

/**
 * How the cost of a whole batch follows from its entries. A function must not decrease when items
 * are added.
 */
export type Measure<Item> = "sum" | "padded" | ((items: readonly Item[]) => number);

/**
 * How long a batch gathers that is not full, with `maxWaitMs` 0 and a free slot; see
 * {@link ConfigureOptions.gather}.
 */
export type Gather = "auto" | "turn" | "tick";

/** What a full queue does to the next submit. */
export type OnFull = "wait" | "reject" | "drop-oldest";

/** Further calls of the handler for a batch that failed as a whole. */
export interface RetryOptions {
  /** Calls of the handler in total, at least 1. */
  readonly attempts: number;
  /**
   * Pause before each further call, in milliseconds: a number, or a function of the number of calls
   * so far and the error. Default 0. What the error says (`retryAfterMs`, a `retry-after` header)
   * makes it longer.
   */
  readonly backoffMs?: number | ((attempt: number, error: unknown) => number) | undefined;
  /** Whether an error is worth another call. Default: every one is. */
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/**
 * Results kept by the owner of the batcher. The key is the one of `dedupe`, or
 * `${key.length}:${key}=${dedupeKey}` where the item has a `key`. `undefined` and `null` are
 * misses, as Redis, `localStorage` and cache-manager answer them. One that fails counts as a miss,
 * with a warning. An item waits from the end of its look-up on; deadline and latency count from its
 * submit.
 */
export interface BatchCache<Result> {
  get(key: string): Result | null | undefined | PromiseLike<Result | null | undefined>;
  set(key: string, result: Result): unknown;
  /** Needed for `forget()` alone. */
  delete?(key: string): unknown;
  /**
   * True: `null` is a result like any other, for a cache whose miss is `undefined`, as a Map's.
   * Default false: a result that is `null` is not stored, and the first one warns.
   */
  readonly nullIsResult?: boolean | undefined;
}

/** The limits that may change while a batcher runs. Durations are in milliseconds. */
export interface ConfigureOptions {
  /** Hard cap on items per batch. Integer >= 1. Default 32. */
  readonly maxBatchSize?: number | undefined;
  /**
   * Hard cap on a batch's cost, exceeded only by a single oversize item that runs alone. > 0.
   * Default Infinity. With `"learn"` the batcher finds by itself how large batches pay for this
   * handler, from how long its batches run: no item is too large then, `maxBatchSize` is 1,024
   * where it is not given, and free slots share what waits.
   */
  readonly maxBatchCost?: number | "learn" | undefined;
  /**
   * Longest that the oldest item is held for company while a slot is free. Default 0: never held;
   * Infinity: until its batch is full. A lane goes earlier where a deadline asks for it: 1.25 times
   * the 95th percentile of the last batches' run times before that, and a millisecond.
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * With `maxWaitMs > 0`: this many waiting go at once. 1 to maxBatchSize; follows maxBatchSize
   * while unset.
   */
  readonly preferredBatchSize?: number | undefined;
  /**
   * With `maxWaitMs` 0 and a free slot, how long a batch that is not full gathers: `"turn"`, until
   * the promise jobs of the running task are done; `"tick"`, to the end of the event loop's present
   * pass, so that requests of many sockets meet; `"auto"` (default), `"tick"` while the last batch
   * settled in the turn in which it began, else `"turn"`; a handler that becomes slow is noticed
   * within eight batches. With an injected `clock`, `"auto"` is `"turn"`, and `"tick"` needs
   * `clock.setImmediate`.
   */
  readonly gather?: Gather | undefined;
  /** Batches that may run at the same time. Integer >= 1 or Infinity. Default 1. */
  readonly concurrency?: number | undefined;
  /** Waiting items accepted before `onFull` applies. Integer >= 1 or Infinity. Default 10,000. */
  readonly maxQueueSize?: number | undefined;
}

/**
 * All options of a batcher. Functions are the user's own: whatever they throw rejects one item,
 * never the batcher.
 */
export interface BatchOptions<Item, Result> extends ConfigureOptions {
  /** The weight of an item: finite, >= 0. Default: every item weighs 1. */
  readonly cost?: ((item: Item) => number) | undefined;
  /**
   * A batch's cost: the `"sum"` of its items' (default), `"padded"` (items x largest), or a
   * function of the items, which must not decrease when items are added. With `prepareItem` the
   * function gets the prepared items.
   */
  readonly batchCost?: Measure<Item> | undefined;
  /**
   * What becomes of an item that is over `maxBatchCost` by itself. Default `"reject"`
   * (ITEM_TOO_LARGE).
   */
  readonly oversize?: "reject" | "alone" | undefined;
  /**
   * Asked before a batch is closed: while it says no, the batch waits and grows. Several batchers
   * may share one. Each call of the handler takes one call and its batch's cost. Not together with
   * `prefetch`.
   */
  readonly limiter?: RateLimiter | undefined;
  /**
   * Batches that may be prepared ahead of a free slot. Only for handlers with `prepare`. Integer >=
   * 0. Default 0.
   */
  readonly prefetch?: number | undefined;
  /** What a submit meets when the queue is full. Default `"wait"`. */
  readonly onFull?: OnFull | undefined;
  /** Items of different keys never share a batch. */
  readonly key?: ((item: Item) => string) | undefined;
  /** Equal items that wait or run share one place, and one computation. */
  readonly dedupe?: ((item: Item) => string) | undefined;
  /** Results by `dedupe`'s key. */
  readonly cache?: BatchCache<Result> | undefined;
  /**
   * The order among what waits. Default `"fifo"`. `"length"` is for handlers that pad all items to
   * the longest: the cost of an item is its length, `batchCost` is `"padded"`, and of what waits
   * those go together whose padding costs least. The one that waits first (by priority, tenant and
   * age) is in every batch; nobody waits for company. Free slots share what waits.
   */
  readonly order?: "fifo" | "length" | undefined;
  /** Tenants share batches by cost (deficit round robin). */
  readonly fairBy?: ((item: Item) => string) | undefined;
  /**
   * `submitMany` calls of at most this many items go before larger ones: they count as submitted
   * half of `priorityAgingMs` earlier. Integer >= 0. Default 0: off.
   */
  readonly smallCallFirst?: number | undefined;
  /**
   * What one step of `priority` is worth in waiting, in milliseconds. The item with the smallest
   * `submittedAt - priority * priorityAgingMs` goes first. > 0. Default 10,000. With Infinity
   * priority decides alone, then small calls go first, then arrival decides.
   */
  readonly priorityAgingMs?: number | undefined;
  /** Default deadline of an item, from its submit. > 0. Default: none. */
  readonly timeoutMs?: number | undefined;
  /**
   * A call of the handler that runs longer rejects its callers (HANDLER_TIMEOUT) and frees its
   * slot. > 0.
   */
  readonly handlerTimeoutMs?: number | undefined;
  /** Further calls for a batch that failed as a whole. Default: none. */
  readonly retry?: RetryOptions | undefined;
  /** Splits a failed batch in halves until the items that fail are alone. Default false. */
  readonly isolateFailures?: boolean | undefined;
  /**
   * A label for metrics and batch ids, and where it is given for messages. Default: the handler's
   * name, `Class.method` of a decorated method, or `"batch"`.
   */
  readonly name?: string | undefined;
  /**
   * Called at each submit, in the caller's async context; its value reaches the handler with the
   * item.
   */
  readonly captureContext?: (() => unknown) | undefined;
  /** Time, for tests and simulation. */
  readonly clock?: Clock | undefined;
  /** Chance in [0, 1), for tests and simulation. */
  readonly random?: (() => number) | undefined;
}

/** Options of which none is left out. */
type Filled<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The retry policy with nothing left out. */
export type ResolvedRetry = Filled<RetryOptions>;

/** Options without a default: undefined where they were not given. */
type WithoutDefault = "limiter" | "key" | "dedupe" | "cache" | "fairBy" | "captureContext";

type GivenOptions = BatchOptions<unknown, unknown>;

/** The options in force: every limit a number; a function that was not given is undefined. */
export interface ResolvedOptions
  extends Filled<Omit<GivenOptions, WithoutDefault | "retry" | "maxBatchCost">>,
    Required<Pick<GivenOptions, WithoutDefault>> {
  /** Infinity where there is none, and where it is learned. */
  readonly maxBatchCost: number;
  /** True with `maxBatchCost: "learn"`. */
  readonly learnsBatchCost: boolean;
  readonly retry: ResolvedRetry | undefined;
  /** Infinity where there is none. */
  readonly timeoutMs: number;
  /** Infinity where there is none. */
  readonly handlerTimeoutMs: number;
}

/** The options in force, as users see them. */
export interface ShownOptions extends Omit<ResolvedOptions, "maxBatchCost"> {
  /** Infinity where there is none. */
  readonly maxBatchCost: number | "learn";
}
