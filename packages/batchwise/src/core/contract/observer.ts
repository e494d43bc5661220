// An observer watches a batcher from the inside, for metrics and traces: it runs inside the submit
// and around the handler. `batchwise/otel` has the only one. Without an observer the cost is one
// comparison per batch. Its methods never throw.

import type { BatchEvent, RunningBatch } from "./events.ts";
import type { ItemOutcome } from "./outcome.ts";

/**
 * Name of the method that sets the observer. Registered, so that it is equal in two copies of the
 * package.
 */
export const OBSERVE: unique symbol = Symbol.for("batchwise.observe");

/** A batch that is about to run. Times are of the batcher's clock. */
export type ObservedBatch = RunningBatch;

/** An item of the batch: since when it waits, and the value of `capture` for its callers. */
export interface ObservedItem {
  readonly moment: { readonly at: number };
  readonly facts: { readonly captured: unknown };
}

/** Watches one batch. */
export interface BatchWatch {
  /**
   * Calls `call` once, which calls the handler, and returns its result. Called again for retries
   * and halves.
   */
  around<Answer>(call: () => Answer): Answer;
  ended(event: BatchEvent): void;
}

export interface BatchObserver {
  /**
   * Called inside each submit, in the caller's async context, with the value captured for earlier
   * callers of the same item. The item keeps the returned value.
   */
  readonly capture: ((before: unknown) => unknown) | undefined;
  /** Called before the handler. `waitMs`: the wait of the oldest item. */
  started(batch: ObservedBatch, items: readonly ObservedItem[], waitMs: number): BatchWatch;
  /** `times` items have ended with one outcome and latency; `error`: of one without a result. */
  settled(outcome: ItemOutcome, latencyMs: number, times: number, error?: unknown): void;
  /**
   * `callers` callers need no place: they share that of an equal item, or the cache has their
   * answer.
   */
  spared(by: "dedupe" | "cache", callers: number): void;
}

/**
 * Makes the next observer from the previous one; `warn` reports an error to the batcher's
 * listeners.
 */
export type ChangeObserver = (before: BatchObserver | null, warn: (error: unknown) => void) => BatchObserver | null;

/** The non-public member of every batcher. */
export interface Observable {
  readonly [OBSERVE]: (change: ChangeObserver) => void;
}
