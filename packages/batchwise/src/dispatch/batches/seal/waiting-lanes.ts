// Remembers over turns of the sealer which lanes wait for capacity at a provider, in order. Each
// process keeps capacity for the lane that it has seen waiting longest, so each lane is served in
// the end.

import { type AccountChoice, batchTokens } from "../../accounts/rank-accounts.ts";
import type { Account } from "../../contract/account.ts";
import type { LedgerLimits } from "../../contract/store/ledger-rows.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { Thresholds } from "../../contract/types.ts";
import { keptFrom, limitsWithout, type NoRoom, roomFor, type WaitingLane } from "./shared-ledger.ts";
import { batchCaps } from "./thresholds.ts";

export class WaitingLanes {
  readonly #waiting: Map<string, WaitingLane & { readonly seen: number }> = new Map();
  #turn = 0;

  /** Forgets lanes that did not need capacity in the last turn. */
  beginTurn(): void {
    for (const [lane, { seen }] of this.#waiting) if (seen < this.#turn) this.#waiting.delete(lane);
    this.#turn += 1;
  }

  /** The limits up to which the lane may reserve. */
  limitsOf(lane: string, choice: AccountChoice<Account>): LedgerLimits {
    const kept = keptFrom(lane, choice.ledger, this.#waiting.values());
    return limitsWithout(kept, choice.limits, choice.tokenLimit);
  }

  /** True if capacity is kept on the ledger for another lane. */
  isHeldBack(lane: string, ledger: string): boolean {
    return keptFrom(lane, ledger, this.#waiting.values()).batches > 0;
  }

  /** Call if the lane got no batch. */
  refused(lane: LaneRow, refusals: readonly NoRoom[]): void {
    const kept = new Map<string, LedgerLimits>();
    for (const refusal of refusals) {
      const room = roomFor(lane, refusal);
      if (room !== null) kept.set(refusal.ledger, room);
    }
    const since = this.#waiting.get(lane.lane)?.since ?? this.#turn;
    if (kept.size === 0) this.#waiting.delete(lane.lane);
    else this.#waiting.set(lane.lane, { lane: lane.lane, since, kept, seen: this.#turn });
  }

  /** Call when the lane has got its batch. Its next batch waits behind the lanes that wait now. */
  sealed(lane: string): void {
    this.#waiting.delete(lane);
  }
}

/** One account's refusal of a lane's next batch. */
export interface Refusal extends NoRoom {
  readonly account: string;
  readonly choice: AccountChoice<Account>;
}

/** `inputs`: of a request in the lane, at most. */
export function refusalOf(
  thresholds: Thresholds,
  inputs: number,
  choice: AccountChoice<Account>,
  answer: Pick<NoRoom, "reason" | "booked" | "headTokens">,
): Refusal {
  const { account, ledger, tokenLimit } = choice;
  const { limits } = account.capabilities;
  const caps = batchCaps(thresholds, limits, inputs);
  const { first, most } = batchTokens(caps.maxTokens, tokenLimit);
  const requests = Math.min(caps.maxRequests, Math.ceil(limits.maxEnqueuedRequests / 2));
  const minRequests = Math.max(1, limits.minRequests);
  const usual = { tokens: first, requests };
  return { ...answer, account: account.name, choice, ledger, minRequests, usual, mostTokens: most, tokenLimit };
}
