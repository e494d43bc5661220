// A batch that has left the queue, as its surroundings see it. What happens in it is in batch-run.ts.

import type { BatchReason } from "../contract/outcome.ts";
import type { Flush } from "../queue/flush.ts";

/** What a batch is made with. */
export interface BatchStart {
  /** Unique per batcher, and the running number of the batch in it. */
  readonly idPrefix: string;
  readonly sequence: number;
  readonly key: string | undefined;
  readonly reason: BatchReason;
  readonly cost: number;
  readonly startedAt: number;
  /** The flushes that wait for it. */
  readonly flushes: readonly Flush[];
}

/** How a batch ended. */
export interface RunEnd {
  readonly runMs: number;
  readonly waitMs: number;
  /** The error that failed it as a whole; undefined where there was none. */
  readonly error: unknown;
}

export interface Run {
  readonly start: BatchStart;
  readonly id: string;
  /** Items in it when it was handed to the handler. */
  readonly size: number;
  readonly signal: AbortSignal;
  readonly isOver: boolean;
  readonly holdsSlot: boolean;
  /** Where it stands among the running ones; see slots.ts. */
  slotIndex: number;
  /** Resolves when the batch has a slot; undefined where it has one. */
  slot(): Promise<void> | undefined;
  /** Gives a batch that was prepared ahead the slot it waits for. */
  grantSlot(): void;
  /** Notes that the batch goes on without its slot. */
  releaseSlot(): void;
  /** Rejects its callers with CLOSED and aborts. */
  close(now: number): void;
}
