// How long a batch is sent again that nobody refuses and nobody takes: its uploads or creates get no answer, a 5xx or a
// 404, time after time. Pure. The count lives in `lastError`, beside the provider's words, and ends with a create that
// is accepted. Counts stand for times, because pauses grow to an hour: a day's outage of the provider fails nothing.

import type { BatchRow } from "../contract/rows.ts";
import type { OutcomeError } from "../contract/types.ts";

/** What `lastError` holds. */
export interface Trouble extends OutcomeError {
  /** Attempts in a row that came to nothing; of polls, looks in a row that did not find the batch. */
  readonly tries?: number;
  /** When the first of them was made. */
  readonly since?: number;
}

export interface Tally {
  readonly tries: number;
  readonly since: number;
}

/** `again`: nothing is decided. `halve`, `refuse`: as for a batch that was refused. `putAside`: a person decides. */
export type Verdict = "again" | "halve" | "refuse" | "putAside";

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** Reached after two hours at least: enough where others of its kind are taken meanwhile. */
const TRIES_AMONG_OTHERS = 12;
/** Reached after a day: no outage any more, also where there is nothing to compare with. */
const TRIES_WITHOUT_OTHERS = 36;
/** Reached after two days: enough to give up a request that is alone. */
const TRIES_ALONE = 60;

/** From one attempt that came to nothing to the next: doubled with each, up to an hour. */
export function pauseAfter(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, Math.min(tries, TRIES_ALONE) - 1));
}

export function tallyOf(batch: Pick<BatchRow, "lastError">): Tally | null {
  if (batch.lastError === null) return null;
  const { tries, since } = JSON.parse(batch.lastError) as Trouble;
  return tries === undefined || since === undefined ? null : { tries, since };
}

/** One more in the row; `at` counts if it is the first. */
export function oneMore(batch: Pick<BatchRow, "lastError">, at: number): Tally {
  const before = tallyOf(batch);
  return { tries: (before?.tries ?? 0) + 1, since: before?.since ?? at };
}

/** True once it matters whether others are taken. */
export function isSuspect(tally: Tally | null): boolean {
  return tally !== null && tally.tries >= TRIES_AMONG_OTHERS;
}

/** `othersPass`: batches for the same model were taken by the same account since the first of these tries. */
export function verdictOf(requests: number, tally: Tally | null, othersPass: boolean): Verdict {
  const tries = tally?.tries ?? 0;
  if (requests > 1) return tries >= (othersPass ? TRIES_AMONG_OTHERS : TRIES_WITHOUT_OTHERS) ? "halve" : "again";
  if (tries < TRIES_ALONE) return "again";
  return othersPass ? "refuse" : "putAside";
}
