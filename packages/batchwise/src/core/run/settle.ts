// Gives each caller of a batch its own result from the handler's answer. An Error in a place
// rejects only its caller; a promise in a place settles its caller later; an unreadable place
// rejects its caller with the error of the read. Entries without a caller are skipped.

import { batchHoleError, batchResultError, isError, resultLength } from "../contract/errors.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import { countsItself, refuse, succeed } from "../submit/callers.ts";
import { countItems, type Services } from "../submit/services.ts";

/** The part of a batch that its answers need. */
export interface SettledBatch {
  /** True if the call's answer is still awaited. */
  isPresent(call: number): boolean;
  /** `count` entries have been answered. */
  noteSettled(count: number): void;
  /** All callers of a call have their answers. */
  allArrived(call: number, now: number): void;
  /** A call has failed as a whole. */
  refused(call: number, error: unknown): void;
}

/** Settles the callers of a call with the handler's answer, unless its shape is wrong. */
export function answer(
  batch: SettledBatch,
  entries: readonly Entry[],
  call: number,
  places: unknown,
  services: Services,
): void {
  if (!batch.isPresent(call)) {
    ignorePlaces(places);
  } else if (resultLength(places) !== entries.length) {
    ignorePlaces(places);
    batch.refused(call, batchResultError(services.name, places, entries.length));
  } else {
    const now = services.clock.now();
    const isSettled = settle(entries, places as ArrayLike<unknown>, call, now, batch, services);
    if (isSettled) batch.allArrived(call, now);
  }
}

/**
 * Returns whether no place holds a promise; if one does, `allArrived` follows. `now`: the time of
 * the answer.
 */
function settle(
  entries: readonly Entry[],
  places: ArrayLike<unknown>,
  call: number,
  now: number,
  batch: SettledBatch,
  services: Services,
): boolean {
  let arrivals: Arrivals | null = null;
  // Completed callers of one moment are counted together.
  let { moment } = entries[0] as Entry;
  let completed = 0;
  const count = (): void => {
    if (completed === 0) return;
    batch.noteSettled(completed);
    countItems(services, "completed", now - moment.at, completed);
    completed = 0;
  };
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index] as Entry;
    let place: unknown;
    try {
      place = readPlace(places, index, services);
      if (isThenable(place)) {
        arrivals ??= { awaited: 0 };
        awaitPlace(entry, place, arrivals, call, batch, services);
        continue;
      }
    } catch (error) {
      count();
      failEntries([entry], error, "failed", batch, services, now);
      continue;
    }
    // Reading a place may have called user code that made the caller leave.
    const { recipient } = entry;
    if (recipient === null) continue;
    entry.recipient = null;
    if (entry.moment !== moment) {
      count();
      ({ moment } = entry);
    }
    if (countsItself(recipient)) batch.noteSettled(1);
    else completed += 1;
    succeed(recipient, place, now, entry.position);
  }
  count();
  return arrivals === null || arrivals.awaited === 0;
}

/** The value of a place. Throws its Error, and if it is empty or unreadable. */
function readPlace(places: ArrayLike<unknown>, index: number, { name }: Services): unknown {
  const place = places[index];
  if (place === undefined && !(index in places)) throw batchHoleError(name, index, places.length);
  if (typeof place === "object" && place !== null && !isThenable(place) && isError(place)) throw place;
  return place;
}

/** The promises in an answer that have not settled. */
interface Arrivals {
  awaited: number;
}

/**
 * Awaits a promise even if its caller has left: its work continues, and its rejection must be
 * handled.
 */
function awaitPlace(
  entry: Entry,
  place: PromiseLike<unknown>,
  arrivals: Arrivals,
  call: number,
  batch: SettledBatch,
  services: Services,
): void {
  const arrived = (value: unknown, isFailure: boolean): void => {
    const { recipient } = entry;
    const now = services.clock.now();
    if (isFailure) {
      failEntries([entry], value, "failed", batch, services, now);
    } else if (recipient !== null) {
      entry.recipient = null;
      batch.noteSettled(1);
      if (!countsItself(recipient)) countItems(services, "completed", now - entry.moment.at);
      succeed(recipient, value, now, entry.position);
    }
    arrivals.awaited -= 1;
    if (arrivals.awaited === 0) batch.allArrived(call, now);
  };
  // A promise may have its own `then`, which may throw or call back at once; this one does neither.
  const checked: Promise<unknown> = Promise.prototype.then.call(Promise.resolve(place), refuseError);
  checked.then(
    (value) => arrived(value, false),
    (error: unknown) => arrived(error, true),
  );
  arrivals.awaited += 1;
}

function refuseError(value: unknown): unknown {
  if (isError(value)) throw value;
  return value;
}

/** Rejects those of these callers that have no answer. */
export function failEntries(
  entries: readonly Entry[],
  error: unknown,
  outcome: FailedOutcome,
  batch: Pick<SettledBatch, "noteSettled">,
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
