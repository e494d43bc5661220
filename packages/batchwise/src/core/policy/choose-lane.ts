// Which lane to send from now. The policy judges one lane; this asks it about the lanes that can be ready: the most
// urgent one, the one with the oldest entry, and those that may be full. No other lane can be ready before those.
//
// Before the turn is over only the most urgent lane may go: a full lane that is always full would otherwise take every
// slot at the moment it frees, and the others, who wait for the turn's end, would never get one. For the same reason
// the oldest entry comes before the lanes that are merely full.

import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import { decide, type LaneView, type PolicyState } from "./decide.ts";
import { pack } from "./pack.ts";
import type { Full } from "./packer.ts";

/** A lane whose batch goes now, and why; or when to look again. */
export type Choice =
  | { readonly lane: Lane; readonly reason: BatchReason }
  | { readonly lane: null; readonly wakeAt: number };

const NOT_YET: Choice = { lane: null, wakeAt: Number.POSITIVE_INFINITY };

export function chooseLane(queue: Queue, options: ResolvedOptions, state: PolicyState, now: number): Choice {
  const urgent = queue.mostUrgent(now, options.priorityAgingMs);
  if (urgent === undefined) return NOT_YET;
  const first = decide(view(urgent, options, state, now), state, now);
  if (first.reason !== null) return { lane: urgent, reason: first.reason };
  if (!state.isTurnOver && !state.isPaused) return NOT_YET;
  const oldest = queue.oldest();
  // A cost function that was called to see whether a lane is full may have sent everybody away.
  if (oldest === undefined) return NOT_YET;
  const last = oldest === urgent ? first : decide(view(oldest, options, state, now), state, now);
  if (last.reason !== null) return { lane: oldest, reason: last.reason };
  for (const lane of queue.hot) {
    const { reason } = decide(view(lane, options, state, now), state, now);
    if (reason !== null) return { lane, reason };
    if (state.isTurnOver && !state.isPaused) queue.hot.delete(lane);
  }
  return { lane: null, wakeAt: last.wakeAt };
}

/** True when a lane is to be looked at again even while others are more urgent: it may be full, or have enough. */
export function mayBeReady(lane: Lane, { minBatchSize, maxBatchCost, batchCost }: ResolvedOptions): boolean {
  if (lane.size >= minBatchSize || lane.cost >= maxBatchCost) return true;
  return batchCost !== "sum" && maxBatchCost < Number.POSITIVE_INFINITY;
}

function view(lane: Lane, options: ResolvedOptions, state: PolicyState, now: number): LaneView {
  return {
    size: lane.size,
    full: fullness(lane, options, state, now),
    oldestAt: lane.oldestAt(),
    pressingAt: state.maxWaitMs > 0 ? lane.pressingAt() : Number.POSITIVE_INFINITY,
    isFlushed: lane.flushed > 0,
  };
}

/** Whether the next item would break a cap. Only a sum is known without packing; the others are packed while held. */
function fullness(lane: Lane, options: ResolvedOptions, state: PolicyState, now: number): Full {
  const { maxBatchSize, maxBatchCost, batchCost } = options;
  if (lane.size >= maxBatchSize) return "size";
  if (maxBatchCost === Number.POSITIVE_INFINITY) return null;
  if (batchCost === "sum") return lane.cost >= maxBatchCost ? "cost" : null;
  return state.maxWaitMs > 0 && state.isTurnOver ? pack(lane.lines, options, now).full : null;
}
