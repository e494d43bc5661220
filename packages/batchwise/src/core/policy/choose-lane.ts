// Chooses the lane to send from. Applies the policy to each lane that may be ready: the most urgent
// one, the one with the oldest entry, the one with the earliest deadline, and lanes that may be
// full. No other lane can be ready before those.
//
// While entries still gather, only the most urgent lane and flushed lanes may go: otherwise a lane
// that is always full would take every free slot. For the same reason the oldest entry precedes
// lanes that are merely full. If batches gather by pass, full lanes do not wait for its end, unless
// an entry has waited since an earlier pass. Lanes that seemed full and are not are marked cold.

import type { BatchReason } from "../contract/outcome.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import type { Full, LaneCaps } from "./caps.ts";
import { decide, type PolicyState, type Verdict } from "./decide.ts";
import type { Packer } from "./packer.ts";

/** The lane whose batch goes now and the reason, or when to look again. */
export type Choice =
  | { readonly lane: Lane; readonly reason: BatchReason }
  | { readonly lane: null; readonly wakeAt: number };

const NOT_YET: Choice = { lane: null, wakeAt: Infinity };

export interface ChoiceState extends PolicyState {
  /** End of the last pass that left entries waiting. */
  readonly passedAt: number;
  readonly packer: Packer;
}

export function chooseLane(queue: Queue, caps: LaneCaps, state: ChoiceState, now: number): Choice {
  const urgent = queue.mostUrgent;
  if (urgent === undefined) return NOT_YET;
  const first = judge(urgent, caps, state, now);
  if (first.reason !== null) return { lane: urgent, ...first };
  if (state.gate !== "open" && !state.isPaused) return chooseHot(queue, caps, state, now, Infinity);
  let wakeAt = Infinity;
  for (const lane of [queue.oldestLane, queue.earliestDueLane]) {
    if (lane === undefined) continue;
    const verdict = judge(lane, caps, state, now);
    if (verdict.reason !== null) return { lane, ...verdict };
    wakeAt = Math.min(wakeAt, verdict.wakeAt);
  }
  return chooseHot(queue, caps, state, now, wakeAt);
}

/** Chooses among lanes that may be full. They may go although the most urgent one still gathers. */
function chooseHot(queue: Queue, caps: LaneCaps, state: ChoiceState, now: number, wakeAt: number): Choice {
  let choice: Choice = { lane: null, wakeAt };
  const { hot, marks } = queue;
  if (hot.size === 0) return choice;
  const isFlushOnly = state.isPaused || state.gate === "turn" || hasWaitedForPass(queue, state);
  if (isFlushOnly && !queue.isFlushed) return choice;
  const notReady: Lane[] = [];
  for (const lane of hot) {
    if (isFlushOnly && !lane.isFlushed) continue;
    const verdict = judge(lane, caps, state, now);
    if (verdict.reason !== null) {
      choice = { lane, ...verdict };
      break;
    }
    notReady.push(lane);
  }
  queue.markCold(notReady, marks);
  return choice;
}

/** True if batches gather by pass and the oldest entry came before this one. */
function hasWaitedForPass(queue: Queue, { gate, passedAt }: ChoiceState): boolean {
  return gate === "pass" && queue.oldestAt() < passedAt;
}

/** True if a lane must be checked even if others are more urgent: it may be full, or due early. */
export function mayBeReady(lane: Lane, caps: LaneCaps): boolean {
  const { preferredBatchSize, maxBatchCost, batchCost } = caps;
  if (lane.size >= preferredBatchSize || lane.cost >= maxBatchCost) return true;
  return lane.earliestDueAt < Infinity || (batchCost !== "sum" && maxBatchCost < Infinity);
}

function judge(lane: Lane, caps: LaneCaps, state: ChoiceState, now: number): Verdict {
  return decide(lane, fullness(lane, caps, state, now), state, now);
}

/**
 * The cap that the next item would break. A sum is known without packing; other costs are packed
 * while the lane is held.
 */
function fullness(lane: Lane, caps: LaneCaps, state: ChoiceState, now: number): Full {
  const { maxBatchSize, maxBatchCost, batchCost } = caps;
  if (lane.size >= maxBatchSize) return "size";
  if (maxBatchCost === Infinity) return null;
  if (batchCost === "sum") return lane.cost >= maxBatchCost ? "cost" : null;
  const isHeld = state.gate === "pass" || (state.gate === "open" && state.maxWaitMs > 0);
  if (!isHeld) return null;
  return state.packer.pack(lane, caps, now, Infinity).full;
}
