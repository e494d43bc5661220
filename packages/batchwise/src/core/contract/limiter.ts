// The contract between batchers and a limiter, which decides when a batcher may call and with how
// much cost. A batcher calls `reserve` before it closes a batch, so a waiting batch keeps growing.
// `rateLimiter` implements the contract for one process; the option `limiter` takes any
// implementation.

/** The client of a limiter: a batcher. */
export interface LimiterClient {
  /**
   * Called when the client may reserve again. The client at once calls `reserve` with its batch's
   * current cost, or `withdraw`. A limiter never calls it from inside one of its own methods.
   */
  retry(): void;
}

/** The answer of `reserve`: go, with at most this cost; or wait for `retry()`. */
export type LimiterAnswer = { readonly granted: true; readonly cost: number } | { readonly granted: false };

/**
 * Decides when batchers may call and with how much cost. Several may share one limiter: they are
 * served in the order of their requests, and no later request is granted while an earlier one
 * waits.
 *
 * The methods must not throw, and a promise of `reserve` must not reject.
 *
 * @example
 * ```ts
 * import { createBatcher, type RateLimiter, rateLimiter } from "batchwise";
 *
 * // Counts the requests to another limiter.
 * const inner = rateLimiter({ callsPerMinute: 120 });
 * let requests = 0;
 * const limiter: RateLimiter = {
 *   reserve: (client, cost) => {
 *     requests += 1;
 *     return inner.reserve(client, cost);
 *   },
 *   giveBack: (calls, cost) => inner.giveBack(calls, cost),
 *   withdraw: (client) => inner.withdraw(client),
 *   hold: (forMs) => inner.hold(forMs),
 * };
 * const batcher = createBatcher((items: number[]) => items, { limiter });
 * ```
 */
export interface RateLimiter {
  /**
   * Reserves one call and up to `cost`. The granted cost is lower than `cost` if that much can
   * never be granted at once; the batch is cut to it. A repeated request replaces the client's
   * earlier one and keeps its place in the order. A granted client no longer waits.
   */
  reserve(client: LimiterClient, cost: number): LimiterAnswer | PromiseLike<LimiterAnswer>;
  /**
   * Returns the unused part of a reservation: `calls` is 1 if no call was made; `cost` is the
   * granted cost minus the batch's. It is negative if a single item cost more than was granted: a
   * debt, which is paid before the next grant.
   */
  giveBack(calls: number, cost: number): void;
  /** Removes the client from the queue. Does nothing if it does not wait. */
  withdraw(client: LimiterClient): void;
  /**
   * Blocks all calls for this many ms, because the provider demanded it (Retry-After). The latest
   * end applies.
   */
  hold(forMs: number): void;
}
