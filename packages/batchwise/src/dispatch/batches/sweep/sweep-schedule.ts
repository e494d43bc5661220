// Decides when an account is swept next, by any process: every ten minutes while it is used, less
// often while it is idle. An idle account costs at most 24 calls in any 24 hours. Pure.

import { isFromWrongClock } from "../../runtime/wall-clock.ts";

const MINUTE = 60_000;
/** While the account is used. */
export const SWEEP_EVERY_MS: number = 10 * MINUTE;
/** An account without an open batch counts as used for this long after its last create, in ms. */
export const USED_FOR_MS: number = 60 * MINUTE;
const IDLE_CALLS_A_DAY = 24;
/** Slightly more than a day, so that sweeps at both ends of a day are not both in it. */
const IDLE_DAY_MS = 26 * 60 * MINUTE;
/**
 * Minimum sweeps a day, for any number of calls: sweeps look 24 h back and should find running
 * batches.
 */
const IDLE_LEAST_A_DAY = 2;

/** The last sweep of an account, for all processes. */
export interface LastSweep {
  /** When it began. */
  readonly at: number;
  /** Number of calls for the provider's lists. */
  readonly calls: number;
}

/** When the next sweep is due; now or earlier for at once. */
export function nextSweepAt(last: LastSweep | null, isIdle: boolean, now: number): number {
  if (last === null || isFromWrongClock(last.at, now)) return now;
  return last.at + (isIdle ? IDLE_DAY_MS / idleSweepsADay(last.calls) : SWEEP_EVERY_MS);
}

function idleSweepsADay(calls: number): number {
  return Math.max(IDLE_LEAST_A_DAY, Math.floor(IDLE_CALLS_A_DAY / Math.max(1, calls)));
}

/**
 * The text of the mark. It contains the owner, so that concurrent processes write different texts.
 */
export function sweepText({ at, calls }: LastSweep, owner: string): string {
  return `${at} ${calls} ${owner}`;
}

/** null for none, or for an invalid text. */
export function parseSweep(text: string | null): LastSweep | null {
  const [at, calls] = (text ?? "").split(" ").map(Number);
  return Number.isFinite(at) && Number.isFinite(calls) ? { at: at as number, calls: calls as number } : null;
}
