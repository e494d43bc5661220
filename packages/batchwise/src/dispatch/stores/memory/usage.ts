// Sums by tenant, job and lane. Guarantees that they only grow. Knows no requests.

import { laneProper } from "../../contract/store/lanes.ts";
import type { TokenCounts, UsageQuery, UsageRow } from "../../contract/store/rows.ts";
import type { OutcomeStatus } from "../../contract/types.ts";

type Owner = Pick<UsageRow, "tenant" | "job" | "lane">;
type Sums = { -readonly [Field in keyof UsageRow]: UsageRow[Field] } & { ended: Record<OutcomeStatus, number> };

export class Usage {
  readonly #sums = new Map<string, Sums>();

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

  rows({ tenant, job }: UsageQuery): UsageRow[] {
    const asked = [...this.#sums.values()].filter(
      (sums) => (tenant === undefined || sums.tenant === tenant) && (job === undefined || sums.job === job),
    );
    return asked.map((sums) => ({ ...sums, ended: { ...sums.ended } }));
  }

  #of({ tenant, job, lane: given }: Owner): Sums {
    const lane = laneProper(given);
    const name = JSON.stringify([tenant, job, lane]);
    const known = this.#sums.get(name);
    if (known !== undefined) return known;
    const ended = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
    const tokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    const sums: Sums = { tenant, job, lane, requests: 0, ended, ...tokens };
    this.#sums.set(name, sums);
    return sums;
  }
}
