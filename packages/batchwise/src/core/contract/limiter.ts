// The contract between batchers and a limiter: who may call now, and with how much. A batcher asks
// before it closes a batch, so while the answer is no its batch keeps growing. `rateLimiter`
// implements it for one process; anything that keeps these promises may be given as the option
// `limiter`.

/** A batcher, as a limiter sees it. */
export interface LimiterClient {
  /**
   * Called when the client may ask again. In the same step it calls `reserve` with what its batch
   * costs by now, or `withdraw`. A limiter never calls it from inside one of its own methods.
   */
  retry(): void;
}

/** What a limiter answers: go, with at most this cost; or wait for `retry()`. */
export type LimiterAnswer = { readonly granted: true; readonly cost: number } | { readonly granted: false };

/**
 * Says who may call and with how much. Several batchers may share one: they are served in the order
 * in which they asked, and while one waits nobody who asked later is granted anything.
 *
 * The methods must not throw, and a promise of `reserve` must not reject.
 *
 * @example
 * ```ts
 * import { createBatcher, type RateLimiter, rateLimiter } from "batchwise";
 *
 * // Counts the questions that another limiter answers.
 * const inner = rateLimiter({ callsPerMinute: 120 });
 * let questions = 0;
 * const limiter: RateLimiter = {
 *   reserve: (client, cost) => {
 *     questions += 1;
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
   * Reserves one call and up to `cost`. The granted cost is lower than `cost` where more can never
   * be granted at once: the batch is cut to it. Asking again replaces the client's earlier question
   * and keeps its place in the order; a granted client no longer waits.
   */
  reserve(client: LimiterClient, cost: number): LimiterAnswer | PromiseLike<LimiterAnswer>;
  /**
   * Gives back what a reservation did not use: `calls` is 1 where no call was made, `cost` what the
   * batch cost less than was granted. `cost` is negative where one item that costs more than was
   * granted went alone: a debt, which is paid before anybody is granted more.
   */
  giveBack(calls: number, cost: number): void;
  /** The client waits no longer. Does nothing for one that does not wait. */
  withdraw(client: LimiterClient): void;
  /**
   * Nobody may call for this many milliseconds: the provider said so (Retry-After). A later end
   * wins over an earlier one.
   */
  hold(forMs: number): void;
}
