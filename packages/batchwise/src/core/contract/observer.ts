// An observer watches a batcher from the inside, for metrics and traces: it runs inside the submit
// and around the handler. `batchwise/otel` has the one that there is. A batcher without one pays a
// comparison a batch. No method of it throws.

import type { BatchEvent, RunningBatch } from "./events.ts";
import type { ItemOutcome } from "./outcome.ts";

/**
 * The name of the method that changes the observer. Registered, so that it is the same in two
 * copies of the package.
 */
export const OBSERVE: unique symbol = Symbol.for("batchwise.observe");

/** A batch that is about to run. Times are those of the batcher's clock. */
export type ObservedBatch = RunningBatch;

/** An item in it: since when it has waited, and what `capture` returned for its callers. */
export interface ObservedItem {
  readonly moment: { readonly at: number };
  readonly facts: { readonly captured: unknown };
}

/** Watches one batch. */
export interface BatchWatch {
  /**
   * Calls the handler by calling `call` once, and returns what that returns. Called again for
   * retries and halves.
   */
  around<Answer>(call: () => Answer): Answer;
  ended(event: BatchEvent): void;
}

export interface BatchObserver {
  /**
   * Called inside each submit, in the caller's async context, with what was captured for other
   * callers of the same item. What it returns is kept with the item.
   */
  readonly capture: ((before: unknown) => unknown) | undefined;
  /** Called before the handler. `waitMs`: how long the oldest item has waited. */
  started(batch: ObservedBatch, items: readonly ObservedItem[], waitMs: number): BatchWatch;
  /** So many items have ended in one way, so long after their submit. */
  settled(outcome: ItemOutcome, latencyMs: number, times: number): void;
  /**
   * So many callers need no place of their own: they share that of an equal item, or the cache has
   * their answer.
   */
  spared(by: "dedupe" | "cache", callers: number): void;
}

/** Makes the next observer of the one before; `warn` tells the batcher's listeners of an error. */
export type ChangeObserver = (before: BatchObserver | null, warn: (error: unknown) => void) => BatchObserver | null;

/** What every batcher has beside its public members. */
export interface Observable {
  readonly [OBSERVE]: (change: ChangeObserver) => void;
}
