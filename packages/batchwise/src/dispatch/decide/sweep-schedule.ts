// When an account is swept next, by any process. Pure. One that is used is swept every ten minutes. One that is idle is
// swept the less often the more calls that takes: it costs fewer than 24 of them a day.

import { isFromWrongClock } from "./wall-clock.ts";

const MINUTE = 60_000;
/** While the account is used. */
export const SWEEP_EVERY_MS: number = 10 * MINUTE;
/** An account without an open batch counts as used for so long after its last create. */
export const USED_FOR_MS: number = 60 * MINUTE;
/** What each call of a sweep costs an idle account: so many of it fit into a day. */
const IDLE_CALL_MS = 65 * MINUTE;
/** Sweeps look 24 h back: they are never further apart than half of this, however many calls they take. */
const IDLE_MOST_MS = 12 * 60 * MINUTE;

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
  const idleMs = Math.min(IDLE_MOST_MS, Math.max(1, last.calls) * IDLE_CALL_MS);
  return last.at + (isIdle ? idleMs : SWEEP_EVERY_MS);
}

/** As a mark of the store keeps it. */
export function sweepText({ at, calls }: LastSweep): string {
  return `${at} ${calls}`;
}

/** null for none, or for a text that says nothing. */
export function parseSweep(text: string | null): LastSweep | null {
  const [at, calls] = (text ?? "").split(" ").map(Number);
  return Number.isFinite(at) && Number.isFinite(calls) ? { at: at as number, calls: calls as number } : null;
}
