// Who gets the answer of an entry: the resolve function of a promise, or somebody who is more than a bare promise and
// has to know where his entry lies.

import type { FailedOutcome } from "../contract/outcome.ts";

/** Settles a caller's promise. */
export type Resolve = (value: unknown) => void;

/** Where an entry lies, as a party sees it. */
export interface Seating {
  /** True while its entries wait, false once a batch has them. */
  readonly holdsWaiting: boolean;
  /** Takes the entry at `index` out, if it is still there. */
  vacate(index: number): void;
}

/** Somebody who gets an answer and is more than a bare promise: a submitMany, a caller who may leave. */
export interface Party {
  /** True when the party counts its own callers and latencies; otherwise its batch counts it as one caller. */
  readonly countsItself: boolean;
  /** `position` is the number that the entry was appended with. */
  succeed(value: unknown, now: number, position: number): void;
  fail(error: unknown, outcome: FailedOutcome, now: number, position: number): void;
  /** Tells the party where its entry is now, so that it can vacate it. */
  seat(seating: Seating, index: number): void;
}

/** Who gets the answer of an entry: a promise's resolve function (the fast path) or a {@link Party}. */
export type Sink = Resolve | Party;

/** Somebody who is to be told, and by which number. */
export interface Addressee {
  readonly sink: Sink;
  readonly position: number;
  /** When the item was submitted. */
  readonly time: number;
}
