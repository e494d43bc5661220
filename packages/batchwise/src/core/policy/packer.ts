// Packers choose the next batch of a lane. Core takes entries in order (`FIFO` in pack.ts). The
// makers of batchers pass other packers, which choose among entries or learn caps, if the options
// need them.

import type { ResolvedOptions } from "../contract/options.ts";
import type { LearnedStats } from "../contract/stats.ts";
import type { Lane } from "../queue/lane.ts";
import type { Caps, PackedBatch, Waiting } from "./caps.ts";
import type { RunTimes } from "./run-times.ts";

/** An ended batch, with facts about the duration of its calls. */
export interface EndedBatch {
  readonly key: string | undefined;
  readonly size: number;
  readonly cost: number;
  /** Sum of its items' own costs, without padding. */
  readonly itemsCost: number;
  /** The last call was for a part of its items. */
  readonly isPart: boolean;
  /** Null if no call failed. */
  readonly failure: {
    /** It failed as a whole and was called in halves. */
    readonly isSplit: boolean;
    /** It failed as a whole after all attempts, or, if it was split, one of its halves did. */
    readonly hasFailed: boolean;
  } | null;
  /** Its last caller has left without an answer. */
  readonly wasLeft: boolean;
  /**
   * True if a call was longer than deadlines allow: at least half of its callers expired, and it
   * took more than half of their time. The other half passes while the batch before it runs.
   */
  showsTooLong(callMs: number): boolean;
}

/** Inputs of a batch's caps, besides its lane and the options. */
export interface PackingState {
  readonly freeSlots: number;
  /** Number of claimable items of all lanes. */
  readonly waiting: number;
  /** Null until a batch has ended. */
  readonly runTimes: RunTimes | null;
}

export interface Packer {
  /** The cap that no lane's next batch exceeds. */
  highestCap(options: ResolvedOptions): number;
  /** The caps of a lane's next batch. */
  capsOf(lane: Lane, options: ResolvedOptions, state: PackingState): Caps;
  /** The next batch of a lane, from the entries of moments up to this sequence. */
  pack(lane: Waiting, caps: Caps, now: number, upTo: number): PackedBatch;
  /** Learns from an ended batch with this duration of its last call. */
  record(batch: EndedBatch, callMs: number): void;
  /** The learned cap for users; null if there is none. */
  stats(options: ResolvedOptions): LearnedStats | null;
}

/** True if the options need a packer other than FIFO. */
export function isPacked({ learnsBatchCost, order }: ResolvedOptions): boolean {
  return learnsBatchCost || order === "length";
}
