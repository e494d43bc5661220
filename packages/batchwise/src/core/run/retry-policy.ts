// Decides whether a batch that failed as a whole is called again, and after which pause. The
// functions are the user's: if one throws or returns an invalid value, there is no retry or no
// pause, and a warning.

import { describe } from "../contract/errors.ts";
import type { Events } from "../contract/events.ts";
import type { ResolvedRetry } from "../contract/options.ts";
import { retryAfterMs } from "../contract/retry-after.ts";
import { attempt, ignoreIfPromise, isThenable } from "../contract/thenable.ts";
import type { Services } from "../submit/services.ts";

/** `attempt`: the number of calls so far. */
export function isWorthRetrying(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  events: Events,
): boolean {
  if (retry === undefined || attempt >= retry.attempts) return false;
  try {
    const answer: unknown = retry.when(error);
    if (!isThenable(answer)) return Boolean(answer);
    ignoreIfPromise(answer);
    warn(events, "Expected `retry.when` to return a boolean, got a promise: the batch is not tried again.");
  } catch (thrown) {
    warn(events, "`retry.when` threw: the batch is not tried again.", thrown);
  }
  return false;
}

/**
 * The pause that the provider requested, in ms; 0 if there is none. It holds all batchers on the
 * limiter, whether this batch is retried or not.
 */
export function askedPause(error: unknown, { events, options: { limiter } }: Services): number {
  const asked = retryAfterMs(error, Date.now());
  if (asked === undefined) return 0;
  attempt(
    () => limiter?.hold(asked),
    (error) => events.warn("LIMITER_FAILED", "`limiter.hold` failed.", error),
  );
  return asked;
}

/** The pause before the next call by the option `backoffMs`, in ms. */
export function backoffOf(
  backoffMs: ResolvedRetry["backoffMs"],
  attempt: number,
  error: unknown,
  { events }: Services,
): number {
  if (typeof backoffMs === "number") return backoffMs;
  try {
    const pause: unknown = backoffMs(attempt, error);
    if (typeof pause === "number" && pause >= 0 && pause < Infinity) return pause;
    ignoreIfPromise(pause);
    const came = describe(pause);
    warn(
      events,
      `Expected \`retry.backoffMs\` to return a finite number >= 0, got ${came}: the batch is tried again at once.`,
    );
  } catch (thrown) {
    warn(events, "`retry.backoffMs` threw: the batch is tried again at once.", thrown);
  }
  return 0;
}

function warn(events: Events, message: string, cause?: unknown): void {
  events.warn("RETRY_FAILED", message, cause);
}
