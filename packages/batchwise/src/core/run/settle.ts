// Gives each caller of a batch its own result out of the handler's answer. A place that holds an
// Error rejects its caller alone; a place that holds a promise is settled when the promise is; a
// place that cannot be read rejects its caller with what reading it threw. Entries whose caller has
// left are passed over.

import { batchHoleError, batchResultError, isError, nameError, resultLength } from "../contract/errors.ts";
import type { FailedOutcome, ItemOutcome } from "../contract/outcome.ts";
import { ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import type { Recipient, Resolve } from "../queue/recipient.ts";
import { fail, succeed } from "../submit/callers.ts";
import { countItems, type Services } from "../submit/services.ts";

/** A batch, as its answers need to know it. */
export interface SettledBatch {
  /** True for a call whose answer is still waited for. */
  isPresent(call: number): boolean;
  /** So many entries have been given an answer. */
  noteSettled(count: number): void;
  /** Each caller of a call has its answer. */
  allArrived(call: number, now: number): void;
  /** A call has failed as a whole. */
  refused(call: number, error: unknown): void;
}

/**
 * Settles the callers of a call with what the handler has answered, unless that is no answer to it.
 */
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
 * Returns whether no place holds a promise; where one does, `allArrived` follows. `now`: when the
 * answer came.
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
      failEntry(entry, error, now, batch, services);
      continue;
    }
    // Reading a place may have called a user's code, which may have sent the caller away.
    const { recipient } = entry;
    if (recipient === null) continue;
    entry.recipient = null;
    if (entry.moment !== moment) {
      count();
      ({ moment } = entry);
    }
    if (typeof recipient !== "function" && recipient.countsItself) batch.noteSettled(1);
    else completed += 1;
    succeed(recipient, place, now, entry.position);
  }
  count();
  return arrivals === null || arrivals.awaited === 0;
}

/**
 * What a place holds. Throws the Error that it holds, and where it holds nothing or cannot be read.
 */
function readPlace(places: ArrayLike<unknown>, index: number, { name }: Services): unknown {
  const place = places[index];
  if (place === undefined && !(index in places)) throw batchHoleError(name, index, places.length);
  if (typeof place === "object" && place !== null && !isThenable(place) && isError(place)) throw place;
  return place;
}

/** The places of an answer that hold promises. */
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
   * A promise is awaited also where its caller has left: its work goes on, and nothing else would
   * hear it fail.
   */
  await(entry: Entry, place: PromiseLike<unknown>): void {
    // A promise may have a `then` of its own, which may throw or call back at once: this one does
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
      failEntry(entry, value, now, this.#batch, this.#services);
    } else if (recipient !== null) {
      entry.recipient = null;
      this.#batch.noteSettled(1);
      countUnlessItself(this.#services, entry, recipient, "completed", now);
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

/** Rejects the caller of one entry with its own error. */
function failEntry(entry: Entry, error: unknown, now: number, batch: SettledBatch, services: Services): void {
  if (entry.recipient === null) return;
  nameError(error, services.name);
  reject(entry, entry.recipient, error, "failed", now, batch, services);
}

/** Rejects all who are still there with the error of their batch. */
export function failEntries(
  entries: readonly Entry[],
  error: unknown,
  outcome: FailedOutcome,
  batch: Pick<SettledBatch, "noteSettled">,
  services: Services,
): void {
  const now = services.clock.now();
  for (const entry of entries) {
    if (entry.recipient !== null) reject(entry, entry.recipient, error, outcome, now, batch, services);
  }
}

function reject(
  entry: Entry,
  recipient: Resolve | Recipient,
  error: unknown,
  outcome: FailedOutcome,
  now: number,
  batch: Pick<SettledBatch, "noteSettled">,
  services: Services,
): void {
  entry.recipient = null;
  batch.noteSettled(1);
  countUnlessItself(services, entry, recipient, outcome, now);
  fail(recipient, error, outcome, now, entry.position);
}

function countUnlessItself(
  services: Services,
  { moment }: Entry,
  recipient: Resolve | Recipient,
  outcome: ItemOutcome,
  now: number,
): void {
  if (typeof recipient === "function" || !recipient.countsItself) countItems(services, outcome, now - moment.at);
}

/**
 * For an answer that comes too late or has the wrong shape: its promises may reject without anyone
 * waiting.
 */
export function ignorePlaces(places: unknown): void {
  let indexes: readonly string[] = [];
  try {
    if (Array.isArray(places)) indexes = Object.keys(places);
  } catch {
    return;
  }
  for (const index of indexes) ignorePlace(places as readonly unknown[], Number(index));
}

/** A place that cannot be read holds nothing to wait for. */
function ignorePlace(places: readonly unknown[], index: number): void {
  try {
    const place = places[index];
    if (isThenable(place)) ignoreFailure(place);
  } catch {
    return;
  }
}
