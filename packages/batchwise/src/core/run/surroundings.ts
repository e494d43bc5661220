// What all batches of one batcher share, and what a batch tells the scheduler.

import type { ResolvedOptions } from "../contract/options.ts";
import type { SelfCalls } from "../submit/self-calls.ts";
import type { Services } from "../submit/services.ts";
import type { InContext } from "../time/clock.ts";
import type { Stages } from "./handler.ts";
import type { Opening } from "./opening.ts";

/** The scheduler, as a batch sees it. */
export interface BatchOwner<Batch> {
  /** The batch goes on without its slot. */
  slotReleased(): void;
  /**
   * The batch gives its slot back and pauses before another call; `isDue`: for the next free slot
   * only.
   */
  paused(batch: Batch, isDue: boolean): void;
  /** So many callers have left or been answered while their batch paused. */
  pausingLeft(count: number): void;
  /** A batch that pauses wants a slot for another call. */
  wantsSlot(batch: Batch): void;
  ended(batch: Batch, now: number): void;
  /** Runs work whose consequences for other batches wait until it is done. */
  inOneStep(work: () => void): void;
}

/** What all batches of one batcher share. */
export interface BatchSurroundings<Batch> {
  readonly services: Services;
  readonly stages: Stages;
  readonly opening: Opening | null;
  readonly inContext: InContext;
  readonly selfCalls: SelfCalls;
  readonly owner: BatchOwner<Batch>;
  /** True where the queue may keep entries for a while that a batch has taken. */
  readonly keepsTaken: boolean;
  /** The options that do not change: those of retries, failures and cost. */
  readonly options: ResolvedOptions;
  /** The number of the last batch, and what keeps ids apart from those of other batchers. */
  sequence: number;
  readonly random: number;
}
