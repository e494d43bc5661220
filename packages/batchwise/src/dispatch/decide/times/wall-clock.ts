// Decides whether to believe a wall clock that steps. Pure. A step is believed once it has lasted
// ten minutes: until then time goes on from where it was, so that a clock that is wrong for a while
// expires nobody and puts nothing off. What a wrong clock has written all the same shows by its
// distance: no pause of the dispatcher is longer than the longest one.

/** A difference between the two clocks up to this is drift, and followed at once. */
export const STEP_MS = 60_000;
/** How long a step lasts before it is believed. */
export const BELIEVED_AFTER_MS = 600_000;
/**
 * No due time that the dispatcher writes lies further ahead, unless the user's `maxBackoffMs` is
 * longer.
 */
const LONGEST_PAUSE_MS: number = 12 * 3_600_000;

/** What is known of the wall clock; an offset is wall time less monotonic time. */
export interface WallClock {
  /** The offset that is believed. */
  readonly offset: number;
  /**
   * Another offset that the clock shows, and since when on the monotonic clock; null while it shows
   * none.
   */
  readonly doubt: { readonly offset: number; readonly since: number } | null;
}

/** The state after a look at both clocks. */
export function lookAtClock({ offset, doubt }: WallClock, shown: number, monotonic: number): WallClock {
  if (Math.abs(shown - offset) <= STEP_MS) return { offset: shown, doubt: null };
  if (doubt === null || Math.abs(shown - doubt.offset) > STEP_MS) {
    return { offset, doubt: { offset: shown, since: monotonic } };
  }
  if (monotonic - doubt.since >= BELIEVED_AFTER_MS) return { offset: shown, doubt: null };
  return { offset, doubt: { offset: shown, since: doubt.since } };
}

/** A due time after this was written by a wrong clock. */
export function latestDueAt(now: number, maxBackoffMs: number): number {
  return now + Math.max(LONGEST_PAUSE_MS, maxBackoffMs + STEP_MS);
}

/** True for a time in the past that lies too far ahead to be one. */
export function isFromWrongClock(at: number, now: number): boolean {
  return at - now > BELIEVED_AFTER_MS;
}
