// The places of a handler's answer: one for each caller of the call. An Error in a place rejects
// only that caller. If reading a place throws, the thrown error rejects its caller.

import { batchResultError, isError } from "../contract/errors.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { attempt, ignoreIfPromise, isThenable } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import { refuse } from "../submit/callers.ts";
import type { Services } from "../submit/services.ts";

/**
 * Returns the value of a place. Throws the Error in it, or an error if it is a hole or cannot be
 * read.
 */
export function readPlace(places: ArrayLike<unknown>, index: number, services: Services): unknown {
  const place = places[index];
  if (place === undefined && !(index in places)) throw batchResultError(services.name, places, places.length, index);
  if (typeof place === "object" && place !== null && !isThenable(place) && isError(place)) throw place;
  return place;
}

/** Rejects the callers of these entries that have no answer yet, and reports each to `batch`. */
export function failEntries(
  entries: readonly Entry[],
  error: unknown,
  outcome: FailedOutcome,
  batch: { noteSettled(count: number): void },
  services: Services,
  now: number = services.clock.now(),
): void {
  for (const entry of entries) {
    if (entry.recipient === null) continue;
    batch.noteSettled(1);
    refuse(services, entry, error, outcome, now);
  }
}

/**
 * Handles the promises of an answer that no caller awaits: a late or an invalid one. It may be a
 * promise itself.
 */
export function ignorePlaces(places: unknown): void {
  ignoreIfPromise(places);
  attempt(() => {
    if (Array.isArray(places)) for (const index of Object.keys(places)) ignorePlace(places, Number(index));
  }, ignore);
}

/** An unreadable place holds no promise. */
export function ignorePlace(places: ArrayLike<unknown>, index: number): void {
  attempt(() => places[index], ignore);
}

function ignore(): void {}
