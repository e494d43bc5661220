// How often and how long a batch is sent again whose uploads or creates fail without a refusal: no
// answer, a 5xx, a 404. Pure. The count is kept in `lastError`, beside the provider's words, until
// a create is accepted. Limits are counts, not times: pauses grow to an hour, so the counts span
// days, and a day's outage of the provider fails nothing.

import type { BatchRow } from "../contract/rows.ts";
import type { OutcomeError } from "../contract/types.ts";

/** The JSON in `batch.lastError`. */
export interface LastError extends OutcomeError {
  /** Failed attempts in a row; of polls, those in a row that did not find the batch. */
  readonly tries?: number;
  /** When the first of these attempts was made. */
  readonly since?: number;
  /** Since when the provider has not been done with the uploaded file. */
  readonly pendingSince?: number;
  /** When the batch was last refused as a whole. */
  readonly refusedAt?: number;
  /**
   * Steps in a row that failed by themselves. The words are of the last one; these are what stood
   * there before.
   */
  readonly steps?: number;
  readonly beforeSteps?: OutcomeError;
}

/** Failed attempts in a row, and when the first was made. */
export interface FailureStreak {
  readonly tries: number;
  readonly since: number;
}

/**
 * `again`: send it again. `halve`, `refuse`: treat it as refused. `quarantine`: an operator
 * decides.
 */
export type RetryDecision = "again" | "halve" | "refuse" | "quarantine";

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 3_600_000;
/**
 * Reached after at least two hours: enough when the account accepts other batches of the model
 * meanwhile.
 */
const TRIES_AMONG_OTHERS = 12;
/**
 * Reached after a day: longer than an outage, so enough when there is no other batch to compare
 * with.
 */
const TRIES_WITHOUT_OTHERS = 36;
/** Reached after two days: enough to give up a batch of one request. */
const TRIES_ALONE = 60;

/** The pause after a failed attempt: doubles with each, up to an hour. */
export function pauseAfter(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, Math.min(tries, TRIES_ALONE) - 1));
}

export function streakOf(batch: Pick<BatchRow, "lastError">): FailureStreak | null {
  if (batch.lastError === null) return null;
  const { tries, since } = JSON.parse(batch.lastError) as LastError;
  return tries === undefined || since === undefined ? null : { tries, since };
}

/** The streak with one more failure; `at` is when it began if this is the first. */
export function extendStreak(batch: Pick<BatchRow, "lastError">, at: number): FailureStreak {
  const before = streakOf(batch);
  return { tries: (before?.tries ?? 0) + 1, since: before?.since ?? at };
}

/** True once the decision depends on whether other batches are accepted. */
export function isSuspect(streak: FailureStreak | null): boolean {
  return streak !== null && streak.tries >= TRIES_AMONG_OTHERS;
}

/**
 * `othersAccepted`: the account has accepted other batches of the same model since the streak
 * began.
 */
export function decideRetry(requests: number, streak: FailureStreak | null, othersAccepted: boolean): RetryDecision {
  const tries = streak?.tries ?? 0;
  if (requests > 1) return tries >= (othersAccepted ? TRIES_AMONG_OTHERS : TRIES_WITHOUT_OTHERS) ? "halve" : "again";
  if (tries < TRIES_ALONE) return "again";
  return othersAccepted ? "refuse" : "quarantine";
}
