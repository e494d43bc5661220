// Limits of calls and of cost a minute, for one batcher or for several that share them. Token
// buckets: in any stretch of time no more is granted than the rate times its length and one full
// bucket. Clients are served in the order in which they asked. It holds for this process only, and
// counts what is granted, not what a provider counts.

import type { LimiterAnswer, LimiterClient, RateLimiter } from "../core/contract/limiter.ts";
import { LONGEST_RETRY_AFTER_MS } from "../core/contract/retry-after.ts";
import { Bucket } from "./bucket.ts";
import { type RateLimiterOptions, type ResolvedRateLimiterOptions, resolveRateLimiterOptions } from "./options.ts";
import { WakeTimer } from "./wake-timer.ts";

/**
 * Makes a limiter for the option `limiter` of one batcher or of several.
 *
 * It holds a bucket of calls and a bucket of cost. Each fills at its rate, up to what flows in
 * within `burstMs` (calls: at least one), and is full at first. A batch waits until a call and its
 * cost are there; one that costs more than a full bucket is cut to it.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { createBatcher, rateLimiter } from "batchwise";
 * const limiter = rateLimiter({ callsPerMinute: 120, costPerMinute: 1_200_000 });
 * const options = { limiter, cost: (text: string) => text.length / 4 };
 * const titles = createBatcher(async (texts: string[]) => texts, options);
 * const summaries = createBatcher(async (texts: string[]) => texts, options); // shares the limits
 * ```
 */
export function rateLimiter(options: RateLimiterOptions): RateLimiter {
  return new BucketLimiter(resolveRateLimiterOptions(options));
}

const WAIT: LimiterAnswer = Object.freeze({ granted: false });

/** `isEmpty`: the buckets are empty at first, not full. */
export class BucketLimiter implements RateLimiter {
  readonly #calls: Bucket | undefined;
  readonly #cost: Bucket | undefined;
  readonly #timer: WakeTimer;
  /** Who waits, in the order in which they asked, with the cost that each asked for last. */
  readonly #waiting: Map<LimiterClient, number> = new Map();
  #heldForMs = 0;
  #isServing = false;
  /** Whose `retry` runs and has not asked again. */
  #retrying: LimiterClient | undefined;

  constructor({ callsPerMinute, costPerMinute, burstMs, clock }: ResolvedRateLimiterOptions, isEmpty = false) {
    this.#calls = bucketOf(callsPerMinute, burstMs, 1, isEmpty);
    this.#cost = bucketOf(costPerMinute, burstMs, 0, isEmpty);
    this.#timer = new WakeTimer(clock, (elapsedMs) => this.#serve(elapsedMs));
  }

  reserve(client: LimiterClient, cost: number): LimiterAnswer {
    if (client === this.#retrying) this.#retrying = undefined;
    this.#refill(this.#timer.elapsed());
    const asked = cost > 0 ? cost : 0;
    const isNext = this.#waiting.size === 0 || client === this.#next();
    if (isNext && this.#waitFor(asked) === 0) {
      this.#waiting.delete(client);
      this.#calls?.take(1);
      const granted = this.#cost?.take(asked) ?? asked;
      this.#wakeForNext();
      return { granted: true, cost: granted };
    }
    this.#waiting.set(client, asked);
    if (isNext || this.#timer.mayBeLost) this.#wakeForNext();
    return WAIT;
  }

  giveBack(calls: number, cost: number): void {
    this.#refill(this.#timer.elapsed());
    if (Number.isFinite(calls)) this.#calls?.add(calls);
    if (Number.isFinite(cost)) this.#cost?.add(cost);
    this.#wakeForNext();
  }

  withdraw(client: LimiterClient): void {
    const wasNext = client === this.#next();
    if (!this.#waiting.delete(client) || !wasNext) return;
    this.#refill(this.#timer.elapsed());
    this.#wakeForNext();
  }

  hold(forMs: number): void {
    if (!(forMs > 0)) return;
    this.#refill(this.#timer.elapsed());
    this.#heldForMs = Math.max(this.#heldForMs, Math.min(forMs, LONGEST_RETRY_AFTER_MS));
    this.#wakeForNext();
  }

  /**
   * The timer has fired: clients ask again, the one that waits longest first, until one of them has
   * to wait on.
   */
  #serve(elapsedMs: number): void {
    this.#refill(elapsedMs);
    this.#isServing = true;
    // Each client is asked once a timer at most, so that clients that withdraw and ask anew cannot
    // keep this loop going.
    for (let left = this.#waiting.size; left > 0; left -= 1) {
      const client = this.#next();
      if (client === undefined || this.#waitFor(this.#waiting.get(client) ?? 0) > 0) break;
      this.#retry(client);
    }
    this.#isServing = false;
    this.#wakeForNext(1);
  }

  /**
   * A client that neither asks again nor withdraws waits no longer, or it would block those behind
   * it.
   */
  #retry(client: LimiterClient): void {
    this.#retrying = client;
    try {
      client.retry();
    } catch {
      // The client's own failure. The others keep their places.
    }
    if (this.#retrying === client) this.#waiting.delete(client);
    this.#retrying = undefined;
  }

  /** Sets the timer to the moment at which the next client can be granted what it asked for. */
  #wakeForNext(leastMs = 0): void {
    if (this.#isServing) return;
    const next = this.#next();
    if (next === undefined) this.#timer.clear();
    else this.#timer.set(Math.max(leastMs, this.#waitFor(this.#waiting.get(next) ?? 0)));
  }

  #next(): LimiterClient | undefined {
    return this.#waiting.keys().next().value;
  }

  #waitFor(cost: number): number {
    return Math.max(this.#heldForMs, this.#calls?.waitFor(1) ?? 0, this.#cost?.waitFor(cost) ?? 0);
  }

  #refill(elapsedMs: number): void {
    this.#calls?.refill(elapsedMs);
    this.#cost?.refill(elapsedMs);
    this.#heldForMs = Math.max(0, this.#heldForMs - elapsedMs);
  }
}

/**
 * A bucket of what flows in within `burstMs`, at least of `least`; full unless told otherwise. None
 * without a limit.
 */
function bucketOf(perMinute: number, burstMs: number, least: number, isEmpty: boolean): Bucket | undefined {
  const perMs = perMinute / 60_000;
  const capacity = Math.max(least, perMs * burstMs);
  if (capacity === Number.POSITIVE_INFINITY) return undefined;
  const bucket = new Bucket(perMs, capacity);
  if (isEmpty) bucket.take(capacity);
  return bucket;
}
