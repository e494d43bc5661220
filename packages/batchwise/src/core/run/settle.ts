// Gives each caller of a batch its own result out of the handler's answer. A place that holds an Error rejects its caller
// alone; a place that holds a promise is settled when the promise is; a place that cannot be read rejects its caller
// with what reading it threw. Entries whose caller has left are passed over.

import { batchHoleError, isError, nameError } from "../contract/errors.ts";
import type { FailedOutcome, ItemOutcome } from "../contract/outcome.ts";
import { ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import type { Recipient, Resolve } from "../queue/recipient.ts";
import { fail, succeed } from "../submit/callers.ts";
import { countItems, type Services } from "../submit/services.ts";
import type { Moment } from "../time/turn.ts";

/** A batch, as its answers need to know it. */
export interface SettledBatch {
  /** Called for each entry that has been given an answer. */
  noteSettled(count: number): void;
}

/** Tells all who are still there that it has come to nothing. */
export function failEntries(
  entries: readonly Entry[],
  error: unknown,
  outcome: FailedOutcome,
  batch: SettledBatch,
  services: Services,
): void {
  const now = services.clock.now();
  for (const entry of entries) {
    const { recipient } = entry;
    if (recipient === null) continue;
    entry.recipient = null;
    batch.noteSettled(1);
    countUnlessItself(services, entry, recipient, outcome, now);
    fail(recipient, error, outcome, now, entry.position);
  }
}

/** For an answer that comes too late or has the wrong shape: its promises may reject without anyone waiting. */
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

function countUnlessItself(
  services: Services,
  { moment }: Entry,
  recipient: Resolve | Recipient,
  outcome: ItemOutcome,
  now: number,
): void {
  if (typeof recipient === "function" || !recipient.countsItself) countItems(services, outcome, now - moment.at);
}

/** The answers to one call. */
export class Settling {
  readonly #entries: readonly Entry[];
  readonly #batch: SettledBatch;
  readonly #services: Services;
  readonly #done: (now: number) => void;
  /** When they came. */
  readonly now: number;
  #promised = 0;
  /** Completed callers of one moment that are still to be counted, together. */
  #moment: Moment | null = null;
  #completed = 0;

  /** `done` is called when the last promise among them has settled. */
  constructor(entries: readonly Entry[], batch: SettledBatch, services: Services, done: (now: number) => void) {
    this.#entries = entries;
    this.#batch = batch;
    this.#services = services;
    this.#done = done;
    this.now = services.clock.now();
  }

  /** Returns how many places hold a promise. */
  settle(places: ArrayLike<unknown>): number {
    const entries = this.#entries;
    const now = this.now;
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as Entry;
      let place: unknown;
      try {
        // Reading a place may call a user's code, which may send the caller away: who is there is asked after it.
        place = places[index];
        if (place === undefined && !(index in places))
          place = batchHoleError(this.#services.name, index, entries.length);
        if (typeof place === "object" && place !== null && this.#isSpecial(entry, place)) continue;
      } catch (error) {
        this.#fail(entry, error, now);
        continue;
      }
      const { recipient } = entry;
      if (recipient === null) continue;
      entry.recipient = null;
      if (typeof recipient === "function") {
        this.#count(entry);
        recipient(place);
      } else {
        if (recipient.countsItself) this.#batch.noteSettled(1);
        else this.#count(entry);
        recipient.succeed(place, now, entry.position);
      }
    }
    this.#recordCount();
    return this.#promised;
  }

  /** True for a promise and for an Error, which are dealt with here. */
  #isSpecial(entry: Entry, place: object): boolean {
    if (isThenable(place)) {
      this.#await(entry, place);
      return true;
    }
    if (!isError(place)) return false;
    this.#fail(entry, place, this.now);
    return true;
  }

  #count({ moment }: Entry): void {
    if (moment !== this.#moment) {
      this.#recordCount();
      this.#moment = moment;
    }
    this.#completed += 1;
  }

  #recordCount(): void {
    const completed = this.#completed;
    if (completed === 0 || this.#moment === null) return;
    this.#completed = 0;
    this.#batch.noteSettled(completed);
    countItems(this.#services, "completed", this.now - this.#moment.at, completed);
  }

  #fail(entry: Entry, error: unknown, now: number): void {
    const { recipient } = entry;
    if (recipient === null) return;
    nameError(error, this.#services.name);
    entry.recipient = null;
    this.#recordCount();
    this.#batch.noteSettled(1);
    countUnlessItself(this.#services, entry, recipient, "failed", now);
    fail(recipient, error, "failed", now, entry.position);
  }

  /** A promise is awaited also where its caller has left: its work goes on, and nobody else would hear it fail. */
  #await(entry: Entry, place: PromiseLike<unknown>): void {
    // A promise may have a `then` of its own, which may throw or call back at once: this one does neither.
    const checked: Promise<unknown> = Promise.prototype.then.call(Promise.resolve(place), refuseError);
    checked.then(
      (value) => this.#arrived(entry, value, false),
      (error: unknown) => this.#arrived(entry, error, true),
    );
    this.#promised += 1;
  }

  #arrived(entry: Entry, value: unknown, isFailure: boolean): void {
    const { recipient } = entry;
    const now = this.#services.clock.now();
    if (isFailure) {
      this.#fail(entry, value, now);
    } else if (recipient !== null) {
      entry.recipient = null;
      this.#batch.noteSettled(1);
      countUnlessItself(this.#services, entry, recipient, "completed", now);
      succeed(recipient, value, now, entry.position);
    }
    this.#promised -= 1;
    if (this.#promised === 0) this.#done(now);
  }
}

function refuseError(value: unknown): unknown {
  if (isError(value)) throw value;
  return value;
}
