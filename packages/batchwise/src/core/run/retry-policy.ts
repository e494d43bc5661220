// Decides whether a batch that failed as a whole is called again, and after which pause. The
// functions are the user's: if one throws or returns an invalid value, there is no retry or no
// pause, and a warning.

import { describe } from "../contract/errors.ts";
import type { Events } from "../contract/events.ts";
import type { ResolvedRetry } from "../contract/options.ts";
import { retryAfterMs } from "../contract/retry-after.ts";
import { attempt, ignoreIfPromise, isThenable } from "../contract/thenable.ts";
import { aCost, isCost } from "../contract/validate.ts";
import type { Services } from "../submit/services.ts";

/** `attempt`: the number of calls so far. */
export function isWorthRetrying(
  retry: ResolvedRetry | undefined,
  attempt: number,
  error: unknown,
  events: Events,
): boolean {
  if (retry === undefined || attempt >= retry.attempts) return false;
  const isAnswer = (answer: unknown): boolean => !isThenable(answer);
  return Boolean(call(() => retry.when(error), isAnswer, "when", "a boolean", "not tried again", events));
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
  const { expected } = aCost;
  const pause = call(() => backoffMs(attempt, error), isCost, "backoffMs", expected, "tried again at once", events);
  return (pause as number | undefined) ?? 0;
}

/** The result of a function of `retry`; undefined, with a warning, if it throws or is invalid. */
function call(
  use: () => unknown,
  isValid: (answer: unknown) => boolean,
  name: keyof ResolvedRetry,
  expected: string,
  effect: string,
  events: Events,
): unknown {
  try {
    const answer = use();
    if (isValid(answer)) return answer;
    ignoreIfPromise(answer);
    const came = `Expected \`retry.${name}\` to return ${expected}, got ${describe(answer)}`;
    events.warn("RETRY_FAILED", `${came}: the batch is ${effect}.`);
  } catch (thrown) {
    events.warn("RETRY_FAILED", `\`retry.${name}\` threw: the batch is ${effect}.`, thrown);
  }
  return undefined;
}
