// A batch's surroundings: what it is made of, what it needs of its batcher, and what it tells the scheduler.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import type { Services } from "../submit/services.ts";
import type { HandlerCalls } from "./handler-calls.ts";

/** How a batch ended. */
export interface RunEnd {
  readonly runMs: number;
  readonly waitMs: number;
  /** The error that failed it as a whole; undefined where there was none. */
  readonly error: unknown;
}

/** The entries of a batch, and their items in an array of their own. */
export interface TakenBatch {
  readonly entries: readonly Entry[];
  readonly items: unknown[];
}

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
  ended(run: Run, end: RunEnd, now: number): void;
}

/** What all batches of one batcher share. */
export interface RunEnvironment<Run> {
  readonly services: Services;
  readonly calls: HandlerCalls;
  readonly owner: RunOwner<Run>;
  /** The options that do not change: those of retries, failures and cost. */
  readonly options: ResolvedOptions;
}
