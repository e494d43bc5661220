// When an account is swept next, by any process. Pure. One that is used is swept every ten minutes.
// One that is idle is swept the less often the more calls that takes: it costs at most 24 of them
// in any 24 hours.

import { isFromWrongClock } from "./wall-clock.ts";

const MINUTE = 60_000;
/** While the account is used. */
export const SWEEP_EVERY_MS: number = 10 * MINUTE;
/** An account without an open batch counts as used for so long after its last create. */
export const USED_FOR_MS: number = 60 * MINUTE;
const IDLE_CALLS_A_DAY = 24;
/** A bit more than a day, so that sweeps at both ends of a day are not both in it. */
const IDLE_DAY_MS = 26 * 60 * MINUTE;
/**
 * Sweeps look 24 h back, and what they find should still run: never fewer, however many calls they
 * take.
 */
const IDLE_LEAST_A_DAY = 2;

/** The last sweep of an account, as all processes see it. */
export interface LastSweep {
  /** When it began. */
  readonly at: number;
  /** How many calls of the provider's lists it took. */
  readonly calls: number;
}

/** When the next sweep is due: now or earlier for at once. */
export function nextSweepAt(last: LastSweep | null, isIdle: boolean, now: number): number {
  if (last === null || isFromWrongClock(last.at, now)) return now;
  return last.at + (isIdle ? IDLE_DAY_MS / idleSweepsADay(last.calls) : SWEEP_EVERY_MS);
}

function idleSweepsADay(calls: number): number {
  return Math.max(IDLE_LEAST_A_DAY, Math.floor(IDLE_CALLS_A_DAY / Math.max(1, calls)));
}

/**
 * As a mark of the store keeps it. With who sweeps: processes that ask at one millisecond write
 * different texts.
 */
export function sweepText({ at, calls }: LastSweep, owner: string): string {
  return `${at} ${calls} ${owner}`;
}

/** null for none, or for a text that says nothing. */
export function parseSweep(text: string | null): LastSweep | null {
  const [at, calls] = (text ?? "").split(" ").map(Number);
  return Number.isFinite(at) && Number.isFinite(calls) ? { at: at as number, calls: calls as number } : null;
}
