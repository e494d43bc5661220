// The scheduler, as batches see it: the state that all batches of one batcher share, and the calls
// by which they report.

import type { Services } from "../submit/services.ts";
import type { Steps } from "../time/deadlines.ts";
import type { Opening } from "./opening.ts";

export interface BatchOwner<Batch> extends Steps {
  readonly services: Services;
  readonly opening: Opening | null;
  /**
   * The number of the last batch, and a random number that makes ids differ from other batchers'.
   */
  sequence: number;
  readonly random: number;
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
}
