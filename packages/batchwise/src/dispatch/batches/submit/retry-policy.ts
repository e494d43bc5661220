// How often and how long a batch is sent again whose uploads or creates fail without a refusal: no
// answer, a 5xx, a 404. Pure. The batch counts its tries until a create is accepted. Limits are
// counts, not times: pauses grow to an hour, so the counts span days, and a day's outage of the
// provider fails nothing.

import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { BatchCase } from "../batch-case.ts";
import { type Plan, plan } from "../plan.ts";

/** Failed attempts in a row, and when the first was made. */
export type Tried = Pick<BatchRow, "tries" | "triesSince">;

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
export const TRIES_ALONE = 60;

/** The pause after a failed attempt: doubles with each, up to an hour. */
export function pauseAfter(tries: number): number {
  return backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, tries);
}

/** With one more failure; `at` is when it began if this is the first. */
export function triedOnceMore({ tries, triesSince }: Tried, at: number): Tried {
  return { tries: tries + 1, triesSince: triesSince ?? at };
}

/** True once the decision depends on whether other batches are accepted. */
export function isSuspect({ tries }: Tried): boolean {
  return tries >= TRIES_AMONG_OTHERS;
}

/**
 * The plan for a batch that is not sent again after so many tries: it is treated as refused, or
 * quarantined. null: send it again. `error`: the outcome error of members that end.
 */
export function afterTries({ batch, othersAccepted, now }: BatchCase, tries: number, error: OutcomeError): Plan | null {
  const isAlone = batch.requests === 1;
  const most = isAlone ? TRIES_ALONE : othersAccepted ? TRIES_AMONG_OTHERS : TRIES_WITHOUT_OTHERS;
  if (tries < most) return null;
  if (isAlone && !othersAccepted) return plan("quarantined", now, { lastError: undefined });
  const kind = isAlone ? "refuse" : "split";
  return plan("collecting", now, { lastError: undefined, disposal: { kind, error } });
}
