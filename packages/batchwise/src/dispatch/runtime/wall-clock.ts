// Decides whether to accept a step of the wall clock. A step is accepted once it has lasted ten
// minutes; until then time continues from before, so that a temporarily wrong clock expires and
// postpones nothing. Times that a wrong clock has written are recognised by their distance: no
// pause of the dispatcher is longer than the longest one. Pure.

/** A difference of the two clocks up to this is drift and followed at once, in ms. */
export const STEP_MS = 60_000;
/** How long a step lasts before it is accepted, in ms. */
export const BELIEVED_AFTER_MS = 600_000;
/** The dispatcher writes no due time further ahead, unless the user's `maxBackoffMs` is longer. */
const LONGEST_PAUSE_MS: number = 12 * 3_600_000;

/** State of the wall clock. An offset is wall time minus monotonic time. */
export interface WallClock {
  /** The accepted offset. */
  readonly offset: number;
  /**
   * Another offset that the clock shows, and since when on the monotonic clock; null if it shows
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

/** A later due time was written by a wrong clock. */
export function latestDueAt(now: number, maxBackoffMs: number): number {
  return now + Math.max(LONGEST_PAUSE_MS, maxBackoffMs + STEP_MS);
}

/** True for a past time that is too far ahead to be one. */
export function isFromWrongClock(at: number, now: number): boolean {
  return at - now > BELIEVED_AFTER_MS;
}
