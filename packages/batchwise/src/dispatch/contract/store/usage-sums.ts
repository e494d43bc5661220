// Sums by tenant, job and lane, which stores keep. Guarantees that they only grow.

import type { OutcomeStatus } from "../types.ts";
import { laneProper } from "./lanes.ts";
import type { TokenCounts, UsageRow } from "./rows.ts";

/** The owner of usage. */
export interface Owner {
  readonly tenant: string;
  readonly job: string;
  /** The lane's name. A part of a split batch counts for its original lane. */
  readonly lane: string;
}

type Sums = { -readonly [Field in keyof UsageRow]: UsageRow[Field] } & { ended: Record<OutcomeStatus, number> };

export class UsageSums {
  readonly #sums = new Map<string, Sums>();
  /** The last owner. Consecutive requests mostly share it. */
  #last: { readonly of: Owner; readonly sums: Sums } | null = null;

  /** Counts one more request that may run. Without a job nothing is counted. */
  requested(owner: Owner): void {
    if (owner.job !== "") this.#of(owner).requests += 1;
  }

  ended(owner: Owner, status: OutcomeStatus, tokens: TokenCounts | null): void {
    const sums = this.#of(owner);
    sums.ended[status] += 1;
    if (tokens === null) return;
    sums.inputTokens += tokens.inputTokens;
    sums.cachedTokens += tokens.cachedTokens;
    sums.outputTokens += tokens.outputTokens;
    sums.reasoningTokens += tokens.reasoningTokens;
  }

  /** In one order, so that two transactions which write them never deadlock. */
  all(): readonly UsageRow[] {
    return [...this.#sums.keys()].sort().map((key) => this.#sums.get(key) as Sums);
  }

  #of(one: Owner): Sums {
    const { tenant, job } = one;
    const last = this.#last;
    if (last?.of.lane === one.lane && last.of.tenant === tenant && last.of.job === job) return last.sums;
    const lane = laneProper(one.lane);
    const key = JSON.stringify([tenant, job, lane]);
    const ended = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
    const tokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    const sums: Sums = this.#sums.get(key) ?? { tenant, job, lane, requests: 0, ended, ...tokens };
    this.#sums.set(key, sums);
    // A copy: a memory store's request changes its lane.
    this.#last = { of: { tenant, job, lane: one.lane }, sums };
    return sums;
  }
}
