// How the next batch of a lane is made up. The core takes entries in their order (`FIFO` in
// pack.ts). Another packer, which the makers of batchers hand in, chooses among them or learns
// their caps, where options ask for that.

import type { ResolvedOptions } from "../contract/options.ts";
import type { LearnedStats } from "../contract/stats.ts";
import type { Lane } from "../queue/lane.ts";
import type { Caps, PackedBatch, Waiting } from "./caps.ts";
import type { RunTimes } from "./run-times.ts";

/** A batch that has ended, and what it has shown of how long its calls take. */
export interface EndedBatch {
  readonly key: string | undefined;
  readonly size: number;
  readonly cost: number;
  /** What its items cost by themselves, without padding. */
  readonly itemsCost: number;
  /** The last call was for a part of its items. */
  readonly isPart: boolean;
  /** Null where no call failed. */
  readonly failure: {
    /** It failed as a whole and was called in halves. */
    readonly isSplit: boolean;
    /** It failed as a whole, after all attempts. */
    readonly hasFailed: boolean;
    /** One of its halves failed, after the whole had. */
    readonly hasFailedHalf: boolean;
  } | null;
  /** Its last caller has left without an answer. */
  readonly wasLeft: boolean;
  /**
   * True for a call that was longer than deadlines allow: at least half of its callers expired, and
   * it took more than half of the time that they had. The other half goes by while the batch before
   * it runs.
   */
  showsTooLong(callMs: number): boolean;
}

/** What the caps of a batch may depend on besides its lane and the options. */
export interface PackingState {
  readonly freeSlots: number;
  /** How many items of all lanes may go. */
  readonly waiting: number;
  /** Null until a first batch has ended. */
  readonly runTimes: RunTimes | null;
}

export interface Packer {
  /** The options, with a cap that no lane's next batch exceeds. */
  limits(options: ResolvedOptions): ResolvedOptions;
  /** The caps of a lane's next batch. */
  capsOf(lane: Lane, options: ResolvedOptions, state: PackingState): Caps;
  /** The next batch of a lane, from the entries of the moments up to the one of this sequence. */
  pack(lane: Waiting, caps: Caps, now: number, lastSequence: number): PackedBatch;
  /** Learns from a batch that has ended, whose last call took so long. */
  record(batch: EndedBatch, callMs: number, options: ResolvedOptions): void;
  /** What users see of a cap that is learned; null where none is. */
  stats(options: ResolvedOptions): LearnedStats | null;
}

export type MakePacker = () => Packer;

/** True where the options need another packer than FIFO. */
export function isPacked({ learnsBatchCost, order }: ResolvedOptions): boolean {
  return learnsBatchCost || order === "length";
}
