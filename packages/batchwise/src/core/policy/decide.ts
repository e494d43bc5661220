// Whether a lane's batch goes now, and why, or when to look again. A pure function of what waits and of the time, for
// a moment at which a slot is free. Full batches go at once; the others at the end of a turn, so that what is
// submitted together travels together; and where a wait is allowed, no later than the oldest entry may be held.

import type { BatchReason } from "../contract/outcome.ts";
import type { Full } from "./packer.ts";

/** What the decision needs to know of a lane. */
export interface LaneView {
  readonly size: number;
  readonly full: Full;
  /** When the entry that has waited longest was submitted. */
  readonly oldestAt: number;
  /** The earliest deadline that waiting may run into; Infinity where there is none. */
  readonly pressingAt: number;
  /** True when a flush covers some of what waits. */
  readonly isFlushed: boolean;
}

/** What the decision needs to know of the batcher. */
export interface PolicyState {
  readonly minBatchSize: number;
  readonly maxWaitMs: number;
  readonly isQueueFull: boolean;
  readonly isDraining: boolean;
  readonly isPaused: boolean;
  readonly isTurnOver: boolean;
}

/** Send now, and why; or hold, and look again at `wakeAt` (Infinity: at the next event). */
export type Verdict = { readonly reason: BatchReason } | { readonly reason: null; readonly wakeAt: number };

const HOLD: Verdict = { reason: null, wakeAt: Number.POSITIVE_INFINITY };

export function decide(lane: LaneView, state: PolicyState, now: number): Verdict {
  if (state.isDraining) return { reason: lane.full ?? "drain" };
  if (lane.isFlushed) return { reason: lane.full ?? "flush" };
  if (state.isPaused) return HOLD;
  if (lane.full !== null) return { reason: lane.full };
  if (state.isQueueFull) return { reason: "size" };
  if (!state.isTurnOver) return HOLD;
  if (state.maxWaitMs === 0) return { reason: "idle" };
  if (lane.size >= state.minBatchSize) return { reason: "min" };
  const wakeAt = lane.oldestAt + state.maxWaitMs;
  if (now >= wakeAt) return { reason: "wait" };
  if (lane.pressingAt <= wakeAt && lane.pressingAt < Number.POSITIVE_INFINITY) return { reason: "deadline" };
  return { reason: null, wakeAt };
}
