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
        arrivals ??= new Arrivals(call, batch, services);
        arrivals.await(entry, place);
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

/** The promises in an answer. */
class Arrivals {
  readonly #call: number;
  readonly #batch: SettledBatch;
  readonly #services: Services;
  awaited = 0;

  constructor(call: number, batch: SettledBatch, services: Services) {
    this.#call = call;
    this.#batch = batch;
    this.#services = services;
  }

  /**
   * Awaits a promise even if its caller has left: its work continues, and its rejection must be
   * handled.
   */
  await(entry: Entry, place: PromiseLike<unknown>): void {
    // A promise may have its own `then`, which may throw or call back at once; this one does
    // neither.
    const checked: Promise<unknown> = Promise.prototype.then.call(Promise.resolve(place), refuseError);
    checked.then(
      (value) => this.#arrived(entry, value, false),
      (error: unknown) => this.#arrived(entry, error, true),
    );
    this.awaited += 1;
  }

  #arrived(entry: Entry, value: unknown, isFailure: boolean): void {
    const { recipient } = entry;
    const now = this.#services.clock.now();
    if (isFailure) {
      failEntries([entry], value, "failed", this.#batch, this.#services, now);
    } else if (recipient !== null) {
      entry.recipient = null;
      this.#batch.noteSettled(1);
      if (!countsItself(recipient)) countItems(this.#services, "completed", now - entry.moment.at);
      succeed(recipient, value, now, entry.position);
    }
    this.awaited -= 1;
    if (this.awaited === 0) this.#batch.allArrived(this.#call, now);
  }
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
