// Remembers which lanes wait for room at a provider, in the order in which they began, from turn to
// turn of the sealer. Of this process: each of several keeps room for the lane that it has seen
// waiting longest, so each lane has its turn.

import type { Account } from "../contract/account.ts";
import type { LaneRow, LedgerLimits } from "../contract/rows.ts";
import type { Thresholds } from "../contract/types.ts";
import { type AccountChoice, batchTokens } from "../decide/sealing/rank-accounts.ts";
import { keptFrom, limitsWithout, type NoRoom, roomFor, type WaitingLane } from "../decide/sealing/shared-ledger.ts";
import { batchCaps } from "../decide/sealing/thresholds.ts";

export class WaitingLanes {
  readonly #waiting: Map<string, WaitingLane & { readonly seen: number }> = new Map();
  #turn = 0;

  /** Forgets the lanes that did not ask for room in the last turn. */
  beginTurn(): void {
    for (const [lane, { seen }] of this.#waiting) if (seen < this.#turn) this.#waiting.delete(lane);
    this.#turn += 1;
  }

  /** What the lane may book up to. */
  limitsOf(lane: string, choice: AccountChoice<Account>): LedgerLimits {
    const kept = keptFrom(lane, choice.ledger, this.#waiting.values());
    return limitsWithout(kept, choice.limits, choice.tokenLimit);
  }

  /** True where room is kept on the ledger for another lane. */
  isHeldBack(lane: string, ledger: string): boolean {
    return keptFrom(lane, ledger, this.#waiting.values()).batches > 0;
  }

  /** The lane got no batch. `noRoom` says why, by ledger. */
  refused(lane: LaneRow, noRoom: ReadonlyMap<string, NoRoom>): void {
    const kept = new Map<string, LedgerLimits>();
    for (const [ledger, why] of noRoom) {
      const room = roomFor(lane, why);
      if (room !== null) kept.set(ledger, room);
    }
    const since = this.#waiting.get(lane.lane)?.since ?? this.#turn;
    if (kept.size === 0) this.#waiting.delete(lane.lane);
    else this.#waiting.set(lane.lane, { lane: lane.lane, since, kept, seen: this.#turn });
  }

  /** The lane has its batch. Its next one waits behind those that wait now. */
  sealed(lane: string): void {
    this.#waiting.delete(lane);
  }
}

/**
 * How an account's ledger had no room for the next batch of a lane whose requests hold at most so
 * many inputs.
 */
export function noRoomAt(
  thresholds: Thresholds,
  inputs: number,
  { account, tokenLimit }: AccountChoice<Account>,
  answer: Pick<NoRoom, "reason" | "booked" | "headTokens">,
): NoRoom {
  const { limits } = account.capabilities;
  const caps = batchCaps(thresholds, limits, inputs);
  const { first, most } = batchTokens(caps.maxTokens, tokenLimit);
  const requests = Math.min(caps.maxRequests, Math.ceil(limits.maxEnqueuedRequests / 2));
  const minRequests = Math.max(1, limits.minRequests);
  return { ...answer, minRequests, usual: { tokens: first, requests }, mostTokens: most, tokenLimit };
}
