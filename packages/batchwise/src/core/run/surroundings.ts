// Context that all batches of one batcher share, and the calls of a batch to the scheduler.

import type { Services } from "../submit/services.ts";
import type { Stages } from "./handler.ts";
import type { Opening } from "./opening.ts";

/** The scheduler, for a batch. */
export interface BatchOwner<Batch> {
  /** The batch continues without its slot. */
  slotReleased(): void;
  /**
   * The batch gives its slot back and pauses before another call. `isDue`: it only waits for the
   * next free slot.
   */
  paused(batch: Batch, isDue: boolean): void;
  /** `count` callers have left or been answered during a pause. */
  pausingLeft(count: number): void;
  /** A pausing batch requests a slot for another call. */
  wantsSlot(batch: Batch): void;
  ended(batch: Batch, now: number): void;
  /** Runs work whose consequences for other batches are handled after it. */
  inOneStep(work: () => void): void;
}

/** Context shared by all batches of one batcher. */
export interface BatchSurroundings<Batch> {
  readonly services: Services;
  readonly stages: Stages;
  readonly opening: Opening | null;
  readonly owner: BatchOwner<Batch>;
  /** See `LatencyTarget`; null without a target. */
  readonly predict: (cost: number) => number | null;
  /** True if equal callers may keep entries for a while after a batch has taken them. */
  readonly keepsTaken: boolean;
  /** The number of the last batch, and what keeps ids apart from those of other batchers. */
  sequence: number;
  readonly random: number;
}
