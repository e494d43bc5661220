// The recipient of an entry's answer: the resolve function of a promise, or an object.

import type { FailedOutcome } from "../contract/outcome.ts";

/** Settles a caller's promise. */
export type Resolve = (value: unknown) => void;

/** A recipient that is more than a promise: a submitMany, a caller who may leave, equal callers. */
export interface Recipient {
  /** True if it counts its own callers and their latencies; else its entry counts as one caller. */
  readonly countsItself: boolean;
  /** The earliest deadline of its callers; Infinity if there is none. */
  readonly dueAt: number;
  /** True if a signal of its callers has aborted and has not been handled yet. */
  readonly isAborted: boolean;
  /** `position`: the entry's own. */
  succeed(value: unknown, now: number, position: number): void;
  fail(error: unknown, outcome: FailedOutcome, now: number, position: number): void;
}
