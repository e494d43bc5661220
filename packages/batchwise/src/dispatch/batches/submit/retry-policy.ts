// How often and how long a batch is sent again whose uploads or creates fail without a refusal: no
// answer, a 5xx, a 404. Pure. The batch counts its tries until a create is accepted. Limits are
// counts, not times: pauses grow to an hour, so the counts span days, and a day's outage of the
// provider fails nothing.

import type { BatchRow } from "../../contract/store/rows.ts";

type Tried = Pick<BatchRow, "tries" | "triesSince">;

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

export function streakOf({ tries, triesSince: since }: Tried): FailureStreak | null {
  return since === null ? null : { tries, since };
}

/** The streak with one more failure; `at` is when it began if this is the first. */
export function extendStreak({ tries, triesSince }: Tried, at: number): FailureStreak {
  return { tries: tries + 1, since: triesSince ?? at };
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
