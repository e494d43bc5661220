// Decides whether a lane's batch goes now, and why, or when to look again. A pure function of the
// waiting entries and the time; call it when a slot is free. A full batch goes at once. Any other
// goes when gathering is done or, with a wait, at the latest when the oldest entry has waited that
// long and in time for the earliest deadline.

import type { BatchReason } from "../contract/outcome.ts";
import type { Lane } from "../queue/lane.ts";
import type { Full } from "./caps.ts";

/** The facts about a lane that the decision needs. */
export type LaneView = Pick<Lane, "size" | "oldestAt" | "earliestDueAt" | "isFlushed">;

/**
 * Which submits may still join the next batch. "turn": submits of the current turn. "pass": also
 * submits of other sockets in the current pass of the event loop. "open": none, so a batch that is
 * not full may go.
 */
export type Gate = "open" | "turn" | "pass";

/** The facts about the batcher that the decision needs. */
export interface PolicyState {
  readonly preferredBatchSize: number;
  readonly maxWaitMs: number;
  /**
   * How long before a deadline its batch must start, in ms; undefined before the first batch has
   * ended.
   */
  readonly leadMs: number | undefined;
  readonly isQueueFull: boolean;
  readonly isDraining: boolean;
  readonly isPaused: boolean;
  readonly gate: Gate;
}

/** Send now, with the reason; or hold, and look again at `wakeAt` (Infinity: at the next event). */
export type Verdict = { readonly reason: BatchReason } | { readonly reason: null; readonly wakeAt: number };

const HOLD: Verdict = { reason: null, wakeAt: Infinity };

export function decide(lane: LaneView, full: Full, state: PolicyState, now: number): Verdict {
  if (state.isDraining) return { reason: full ?? "drain" };
  if (lane.isFlushed) return { reason: full ?? "flush" };
  if (state.isPaused) return HOLD;
  if (full !== null) return { reason: full };
  if (state.isQueueFull) return { reason: "size" };
  if (state.gate !== "open") return HOLD;
  if (state.maxWaitMs === 0) return { reason: "idle" };
  if (lane.size >= state.preferredBatchSize) return { reason: "preferred" };
  const heldUntil = lane.oldestAt() + state.maxWaitMs;
  if (now >= heldUntil) return { reason: "wait" };
  const leaveBy = latestStart(lane.earliestDueAt, state.leadMs, heldUntil);
  if (now >= leaveBy) return { reason: "deadline" };
  return { reason: null, wakeAt: Math.min(heldUntil, leaveBy) };
}

/**
 * The latest start of a batch that meets a deadline. Before any batch has ended, a deadline within
 * the wait is due now.
 */
function latestStart(dueAt: number, leadMs: number | undefined, heldUntil: number): number {
  if (dueAt === Infinity) return dueAt;
  if (leadMs !== undefined) return dueAt - leadMs;
  return dueAt <= heldUntil ? -Infinity : Infinity;
}
