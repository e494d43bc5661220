// Who gets the answer of an entry: the resolve function of a promise, or an object that is more
// than a bare promise.

import type { FailedOutcome } from "../contract/outcome.ts";

/** Settles a caller's promise. */
export type Resolve = (value: unknown) => void;

/**
 * One who gets answers and is more than a bare promise: a submitMany, a caller who may leave, equal
 * callers.
 */
export interface Recipient {
  /**
   * True when it counts its own callers and their latencies; otherwise its entry counts as one
   * caller.
   */
  readonly countsItself: boolean;
  /** The earliest deadline behind it; Infinity where there is none. */
  readonly dueAt: number;
  /** True where a signal behind it has aborted, which nobody has been told of yet. */
  readonly isAborted: boolean;
  /** `position` is the one that the entry was made with. */
  succeed(value: unknown, now: number, position: number): void;
  fail(error: unknown, outcome: FailedOutcome, now: number, position: number): void;
}
