// Which lane to send from now. The policy judges one lane; this asks it about the lanes that can be ready: the most
// urgent one, the one with the oldest entry, the one with the earliest deadline, and those that may be full. No other
// lane can be ready before those.
//
// Before all has gathered only the most urgent lane may go: a full lane that is always full would otherwise take every
// slot at the moment it frees, and the others would never get one. For the same reason the oldest entry comes before
// the lanes that are merely full.

import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import { decide, type LaneView, type PolicyState } from "./decide.ts";
import { type Full, pack } from "./pack.ts";

/** A lane whose batch goes now, and why; or when to look again. */
export type Choice = (
  | { readonly lane: Lane; readonly reason: BatchReason }
  | { readonly lane: null; readonly wakeAt: number }
) & {
  /** Lanes that were taken for ready and are not. */
  readonly notReady: readonly Lane[];
};

const NONE: readonly Lane[] = [];
const NOT_YET: Choice = { lane: null, wakeAt: Number.POSITIVE_INFINITY, notReady: NONE };

export function chooseLane(queue: Queue, options: ResolvedOptions, state: PolicyState, now: number): Choice {
  const urgent = queue.mostUrgent(now, options.priorityAgingMs);
  if (urgent === undefined) return NOT_YET;
  const first = decide(view(urgent, options, state, now), state, now);
  if (first.reason !== null) return { lane: urgent, reason: first.reason, notReady: NONE };
  if (!state.hasGathered && !state.isPaused) return chooseFlushed(queue, options, state, now);
  let wakeAt = Number.POSITIVE_INFINITY;
  for (const lane of [queue.oldestLane(), queue.earliestDueLane]) {
    if (lane === undefined) continue;
    const verdict = decide(view(lane, options, state, now), state, now);
    if (verdict.reason !== null) return { lane, reason: verdict.reason, notReady: NONE };
    wakeAt = Math.min(wakeAt, verdict.wakeAt);
  }
  return chooseHot(queue, options, state, now, wakeAt);
}

/** A flush of one lane does not wait for what gathers in others. */
function chooseFlushed(queue: Queue, options: ResolvedOptions, state: PolicyState, now: number): Choice {
  if (!queue.isFlushing) return NOT_YET;
  for (const lane of queue.hot) {
    const { reason } = decide(view(lane, options, state, now), state, now);
    if (lane.flushed > 0 && reason !== null) return { lane, reason, notReady: NONE };
  }
  return NOT_YET;
}

function chooseHot(queue: Queue, options: ResolvedOptions, state: PolicyState, now: number, wakeAt: number): Choice {
  const notReady: Lane[] = [];
  for (const lane of queue.hot) {
    const { reason } = decide(view(lane, options, state, now), state, now);
    if (reason !== null) return { lane, reason, notReady };
    if (state.hasGathered && !state.isPaused) notReady.push(lane);
  }
  return { lane: null, wakeAt, notReady };
}

/** True when a lane is to be looked at again even while others are more urgent: it may be full, or have to go early. */
export function mayBeReady(lane: Lane, { preferredBatchSize, maxBatchCost, batchCost }: ResolvedOptions): boolean {
  if (lane.size >= preferredBatchSize || lane.cost >= maxBatchCost) return true;
  if (lane.earliestDueAt < Number.POSITIVE_INFINITY) return true;
  return batchCost !== "sum" && maxBatchCost < Number.POSITIVE_INFINITY;
}

function view(lane: Lane, options: ResolvedOptions, state: PolicyState, now: number): LaneView {
  return {
    size: lane.size,
    full: fullness(lane, options, state, now),
    oldestAt: lane.oldestAt(),
    earliestDueAt: lane.earliestDueAt,
    isFlushed: lane.flushed > 0,
  };
}

/** Whether the next item would break a cap. Only a sum is known without packing; the others are packed while held. */
function fullness(lane: Lane, options: ResolvedOptions, state: PolicyState, now: number): Full {
  const { maxBatchSize, maxBatchCost, batchCost } = options;
  if (lane.size >= maxBatchSize) return "size";
  if (maxBatchCost === Number.POSITIVE_INFINITY) return null;
  if (batchCost === "sum") return lane.cost >= maxBatchCost ? "cost" : null;
  if (state.maxWaitMs === 0 || !state.hasGathered) return null;
  return pack(lane.lines, options, now, Number.POSITIVE_INFINITY).full;
}
