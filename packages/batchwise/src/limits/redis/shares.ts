// Keeps the limit while Redis is lost: buckets of this process's share, which start empty because
// the limit may have been used up just before.

import type { LimiterAnswer, LimiterClient } from "../../core/contract/limiter.ts";
import { BucketLimiter } from "../rate-limiter.ts";
import type { ResolvedRedisOptions } from "./options.ts";

export class Shares {
  /** The clock's time of the call that got no answer. */
  readonly since: number;
  readonly share: number;
  readonly #limiter: BucketLimiter | null;
  readonly #waiting: Set<LimiterClient> = new Set();

  /** `share`: share of the limit, 0 to 1; with 0 all clients wait. */
  constructor(options: ResolvedRedisOptions, share: number, since: number) {
    const { callsPerMinute, costPerMinute, burstMs, clock } = options;
    this.since = since;
    this.share = share;
    const rates = { callsPerMinute: callsPerMinute * share, costPerMinute: costPerMinute * share, burstMs, clock };
    this.#limiter = share > 0 ? new BucketLimiter(rates, true) : null;
  }

  /** Waiting clients, in order of their requests. */
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
