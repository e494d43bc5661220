// Decides whether a lane's batch goes now, and why, or when to look again. A pure function of the
// waiting entries and the time; call it when a slot is free. A full batch goes at once. Any other
// goes when gathering is done, or, if a wait is allowed, at the latest when the oldest entry has
// waited for it and in time for the earliest deadline.

import type { BatchReason } from "../contract/outcome.ts";
import type { Full } from "./caps.ts";

/** What the decision needs to know of a lane. */
export interface LaneView {
  readonly size: number;
  readonly full: Full;
  /** When the entry that has waited longest was submitted. */
  readonly oldestAt: number;
  /** The earliest deadline of what waits; Infinity where there is none. */
  readonly earliestDueAt: number;
  /** True when a flush covers some of what waits. */
  readonly isFlushed: boolean;
}

/**
 * Which submits may still join the next batch. "turn": those of the present turn. "pass": those of
 * other sockets in the present pass of the event loop. "open": none are waited for, so a batch that
 * is not full may go.
 */
export type Gate = "open" | "turn" | "pass";

/** What the decision needs to know of the batcher. */
export interface PolicyState {
  readonly preferredBatchSize: number;
  readonly maxWaitMs: number;
  /** How long before a deadline its batch has to go; undefined until a first batch has ended. */
  readonly leadMs: number | undefined;
  readonly isQueueFull: boolean;
  readonly isDraining: boolean;
  readonly isPaused: boolean;
  readonly gate: Gate;
}

/** Send now, and why; or hold, and look again at `wakeAt` (Infinity: at the next event). */
export type Verdict = { readonly reason: BatchReason } | { readonly reason: null; readonly wakeAt: number };

const HOLD: Verdict = { reason: null, wakeAt: Infinity };

export function decide(lane: LaneView, state: PolicyState, now: number): Verdict {
  if (state.isDraining) return { reason: lane.full ?? "drain" };
  if (lane.isFlushed) return { reason: lane.full ?? "flush" };
  if (state.isPaused) return HOLD;
  if (lane.full !== null) return { reason: lane.full };
  if (state.isQueueFull) return { reason: "size" };
  if (state.gate !== "open") return HOLD;
  if (state.maxWaitMs === 0) return { reason: "idle" };
  if (lane.size >= state.preferredBatchSize) return { reason: "preferred" };
  const heldUntil = lane.oldestAt + state.maxWaitMs;
  if (now >= heldUntil) return { reason: "wait" };
  const leaveBy = latestStart(lane.earliestDueAt, state.leadMs, heldUntil);
  if (now >= leaveBy) return { reason: "deadline" };
  return { reason: null, wakeAt: Math.min(heldUntil, leaveBy) };
}

/**
 * When a batch has to go to meet a deadline. While no batch has shown how long one takes, a
 * deadline in the wait is due now.
 */
function latestStart(dueAt: number, leadMs: number | undefined, heldUntil: number): number {
  if (dueAt === Infinity) return dueAt;
  if (leadMs !== undefined) return dueAt - leadMs;
  return dueAt <= heldUntil ? -Infinity : Infinity;
}
