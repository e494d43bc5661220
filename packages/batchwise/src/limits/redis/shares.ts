// What keeps the limit while Redis is gone: buckets of this process's share, empty at first,
// because the limit may have been used up just before.

import type { LimiterAnswer, LimiterClient } from "../../core/contract/limiter.ts";
import { BucketLimiter } from "../rate-limiter.ts";
import type { ResolvedRedisOptions } from "./options.ts";

export class Shares {
  /** When the call was made that was not answered, by the clock. */
  readonly since: number;
  readonly share: number;
  readonly #limiter: BucketLimiter | null;
  readonly #waiting: Set<LimiterClient> = new Set();

  /** `share`: of the limit, 0 to 1; with 0 all wait. */
  constructor(options: ResolvedRedisOptions, share: number, since: number) {
    const { callsPerMinute, costPerMinute, burstMs, clock } = options;
    this.since = since;
    this.share = share;
    const rates = { callsPerMinute: callsPerMinute * share, costPerMinute: costPerMinute * share, burstMs, clock };
    this.#limiter = share > 0 ? new BucketLimiter(rates, true) : null;
  }

  /** Those who wait, in the order in which they asked. */
  get waiting(): readonly LimiterClient[] {
    return [...this.#waiting];
  }

  reserve(client: LimiterClient, cost: number): LimiterAnswer {
    const answer: LimiterAnswer = this.#limiter?.reserve(client, cost) ?? { granted: false };
    if (answer.granted) this.#waiting.delete(client);
    else this.#waiting.add(client);
    return answer;
  }

  giveBack(calls: number, cost: number): void {
    this.#limiter?.giveBack(calls, cost);
  }

  withdraw(client: LimiterClient): void {
    this.#waiting.delete(client);
    this.#limiter?.withdraw(client);
  }

  hold(forMs: number): void {
    this.#limiter?.hold(forMs);
  }
}
