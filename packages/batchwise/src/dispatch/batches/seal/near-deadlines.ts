// Watches waiting requests whose deadline is too near for the accounts of their lane. They move to
// the urgent lane, which fallback accounts serve first, as soon as their accounts would return them
// too late. Reads the store only if there are a deadline and a fallback account.

import { halfTime, LEAST_TRIAL_MS, mostTaken, outlookOf } from "../../accounts/deadlines.ts";
import type { Serving } from "../../accounts/rank-accounts.ts";
import type { Account } from "../../contract/account.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import { parseLane, urgentLane } from "../../format/encode.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Ledgers } from "./lane-closer.ts";
import { DEADLINE_LEAD_MS } from "./thresholds.ts";

const MOVED_AT_ONCE = 1_000;

/** The action that a lane's deadlines require. */
export type Look =
  | { readonly kind: "wait"; readonly until: number }
  /** Close a batch, although the lane could wait. The others: as below, if it cannot be closed. */
  | { readonly kind: "close"; readonly before: number; readonly most: number }
  /** Requests with an earlier deadline are late in this lane; at most so many are moved. */
  | { readonly kind: "move"; readonly before: number; readonly most: number };

const NOTHING: Look = { kind: "wait", until: Number.POSITIVE_INFINITY };

export async function lookAtDeadlines(
  { prospects, clock, lastPauses }: Runtime,
  lane: LaneRow,
  serving: Serving<Account>,
  ledgers: Ledgers,
): Promise<Look> {
  const name = parseLane(lane.lane);
  if (lane.deadlineAt === null || serving.second.length === 0 || name.urgent) return NOTHING;
  const first = await prospects.of(serving.first, name, ledgers, lastPauses, false);
  const second = await prospects.of(serving.second, name, ledgers, lastPauses, true);
  const now = clock.now();
  const { lateBefore, rescued: most } = outlookOf(first, second, lane.deadlineAt, now);
  // A batch that closes by then returns in time.
  const closesAt = lane.deadlineAt - DEADLINE_LEAD_MS - (lateBefore - now);
  if (closesAt > now) return { kind: "wait", until: closesAt };
  if (lane.deadlineAt >= lateBefore) return { kind: "close", before: lateBefore, most };
  // In the last minute, any account may take the requests that their own accounts do not.
  const lastMinute = lane.deadlineAt - DEADLINE_LEAD_MS;
  if (most === 0 && lastMinute > now) return { kind: "wait", until: lastMinute };
  if (most === 0) {
    const taken = mostTaken(second, now);
    return taken > 0 ? { kind: "close", before: now + DEADLINE_LEAD_MS, most: taken } : NOTHING;
  }
  // The accounts' batch times are unknown. A batch is closed, and batches/submit/move-urgent.ts
  // decides about its members.
  const isUnknown = first.some((one) => one.opensAt <= now && !one.isKnown);
  if (!isUnknown) return { kind: "move", before: lateBefore, most };
  if (lane.deadlineAt < now + LEAST_TRIAL_MS)
    return { kind: "move", before: Math.min(lateBefore, now + LEAST_TRIAL_MS), most };
  const until = halfTime(lane);
  return until > now ? { kind: "wait", until } : { kind: "close", before: lateBefore, most };
}

/**
 * Moves at most so many, by default to the urgent lane; the sealer looks again at once. Returns
 * whether it has moved any: if they are fewer than `least`, they stay.
 */
export async function moveBefore(
  { store, clock, sinks, sealing, prospects }: Runtime,
  { lane }: LaneRow,
  before: number,
  most: number,
  { to = urgentLane(parseLane(lane)), least = 1 }: { readonly to?: string; readonly least?: number },
): Promise<boolean> {
  const change = { kind: "move", lane, to, before, limit: Math.min(most, MOVED_AT_ONCE), least } as const;
  const moved = (await store.amend(change, sinks, clock.now())).length;
  if (moved === 0) return false;
  prospects.moved(to, moved);
  sealing.wake();
  return true;
}
