// A batch's surroundings: what it is made of, what it needs of its batcher, and what it tells the scheduler.

import type { ResolvedOptions } from "../contract/options.ts";
import type { SelfCalls } from "../submit/self-calls.ts";
import type { Services } from "../submit/services.ts";
import type { InContext } from "../time/clock.ts";
import type { Stages } from "./handler.ts";
import type { Opening } from "./opening.ts";

/** The scheduler, as a batch sees it. */
export interface RunOwner<Run> {
  /** The batch goes on without its slot. */
  slotReleased(): void;
  /** The batch gives its slot back and waits before another call; `isDue`: for the next free slot only. */
  rested(run: Run, isDue: boolean): void;
  /** So many callers have left or been answered while their batch rested. */
  restingLeft(count: number): void;
  /** A batch that rests wants a slot for another call. */
  wantsSlot(run: Run): void;
  ended(run: Run, now: number): void;
  /** Runs work whose consequences for other batches wait until it is done. */
  inOneStep(work: () => void): void;
}

/** What all calls of one batcher share. */
export interface CallEnvironment {
  readonly services: Services;
  readonly stages: Stages;
  readonly inContext: InContext;
  /** True where the queue may keep entries for a while that a batch has taken. */
  readonly keepsTaken: boolean;
  /** The options that do not change: those of retries, failures and cost. */
  readonly options: ResolvedOptions;
}

/** What all batches of one batcher share. */
export interface RunEnvironment<Run> extends CallEnvironment {
  readonly opening: Opening;
  readonly selfCalls: SelfCalls;
  readonly owner: RunOwner<Run>;
}
