// Limits calls and cost per minute, for one batcher or for several that share the limiter. Token
// buckets: in any interval it grants at most the rate times its length, plus one full bucket.
// Clients are served first come, first served. It counts only this process, and its own grants
// instead of the provider's count.

import type { LimiterAnswer, LimiterClient, RateLimiter } from "../core/contract/limiter.ts";
import { LONGEST_RETRY_AFTER_MS } from "../core/contract/retry-after.ts";
import { Bucket } from "./bucket.ts";
import { type RateLimiterOptions, type ResolvedRateLimiterOptions, resolveRateLimiterOptions } from "./options.ts";
import { WakeTimer } from "./wake-timer.ts";

/**
 * Makes a limiter for the option `limiter` of one or more batchers.
 *
 * It has a bucket of calls and a bucket of cost. Each starts full, fills at its rate, and holds the
 * amount that flows in within `burstMs` (calls: at least one). A batch waits until a call and its
 * cost are available. A batch that costs more than a full bucket is charged a full bucket.
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

/** `isEmpty`: true if the buckets start empty instead of full. */
export class BucketLimiter implements RateLimiter {
  readonly #calls: Bucket | undefined;
  readonly #cost: Bucket | undefined;
  readonly #timer: WakeTimer;
  /** Waiting clients in order of their requests, with the cost of the last one. */
  readonly #waiting: Map<LimiterClient, number> = new Map();
  #heldForMs = 0;
  #isServing = false;
  /** The client whose `retry` is running and has not made its request yet. */
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

  /** Called by the timer: lets clients retry, oldest first, until one has to wait. */
  #serve(elapsedMs: number): void {
    this.#refill(elapsedMs);
    this.#isServing = true;
    // Each client retries at most once per timer, so that clients which withdraw and request again
    // cannot keep this loop running.
    for (let left = this.#waiting.size; left > 0; left -= 1) {
      const client = this.#next();
      if (client === undefined || this.#waitFor(this.#waiting.get(client) ?? 0) > 0) break;
      this.#retry(client);
    }
    this.#isServing = false;
    this.#wakeForNext(1);
  }

  /**
   * Removes a client that neither requests again nor withdraws; it would block the clients behind
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

  /** Sets the timer to the time at which the next client's request can be granted. */
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
 * A bucket of the amount that flows in within `burstMs`, at least of `least`; null without a limit.
 * Starts full unless `isEmpty`.
 */
function bucketOf(perMinute: number, burstMs: number, least: number, isEmpty: boolean): Bucket | undefined {
  const perMs = perMinute / 60_000;
  const capacity = Math.max(least, perMs * burstMs);
  if (capacity === Number.POSITIVE_INFINITY) return undefined;
  const bucket = new Bucket(perMs, capacity);
  if (isEmpty) bucket.take(capacity);
  return bucket;
}
