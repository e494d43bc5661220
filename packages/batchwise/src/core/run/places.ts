// The places of a handler's answer: one for each caller of the call. An Error in a place rejects
// only that caller. If reading a place throws, the thrown error rejects its caller.

import { batchHoleError, isError } from "../contract/errors.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import { refuse } from "../submit/callers.ts";
import type { Services } from "../submit/services.ts";

/**
 * Returns the value of a place. Throws the Error in it, or an error if it is a hole or cannot be
 * read.
 */
export function readPlace(places: ArrayLike<unknown>, index: number, services: Services): unknown {
  const place = places[index];
  if (place === undefined && !(index in places)) throw batchHoleError(services.name, index, places.length);
  if (typeof place === "object" && place !== null && !isThenable(place) && isError(place)) throw place;
  return place;
}

/**
 * Wraps a promise of a place in a native promise, because its own `then` may throw or call back
 * synchronously.
 */
export function arrivalOf(place: PromiseLike<unknown>): Promise<unknown> {
  return Promise.prototype.then.call(Promise.resolve(place), refuseError);
}

function refuseError(value: unknown): unknown {
  if (isError(value)) throw value;
  return value;
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

/** Handles the promises of a late or invalid answer, which no caller awaits. */
export function ignorePlaces(places: unknown): void {
  let indexes: readonly string[] = [];
  try {
    if (Array.isArray(places)) indexes = Object.keys(places);
  } catch {
    return;
  }
  for (const index of indexes) ignorePlace(places as readonly unknown[], Number(index));
}

/** An unreadable place holds no promise. */
function ignorePlace(places: readonly unknown[], index: number): void {
  try {
    const place = places[index];
    if (isThenable(place)) ignoreFailure(place);
  } catch {
    return;
  }
}
