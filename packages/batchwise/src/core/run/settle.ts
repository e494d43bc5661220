// Deals a handler's results out to the callers of a batch, each its own. A place that holds an Error rejects its caller
// alone; a place that holds a promise is settled when the promise is. Entries whose caller has left are passed over.

import { isError } from "../contract/errors.ts";
import type { FailedOutcome, ItemOutcome } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import type { Sink } from "../queue/recipient.ts";
import type { Segment } from "../queue/segment.ts";
import type { StepColumn } from "../queue/step-column.ts";
import { fail, succeed } from "../submit/callers.ts";

/** What settling needs of its surroundings. */
export interface Settling {
  readonly clock: { now(): number };
  /** Counts a caller that does not count itself. */
  count(outcome: ItemOutcome, latencyMs: number): void;
  /** Counts such callers who submitted at one time and got a result just now. */
  countCompleted(times: number, latencyMs: number): void;
  /** Puts their latencies down: `counts[n]` of those who submitted at the nth of these moments. */
  recordLatencies(moments: StepColumn, counts: readonly number[], now: number): void;
}

/**
 * Settles the places of a batch. Returns how many hold a promise; `done` is called when the last of those settles.
 * Throws what reading a place throws (a Proxy's trap); places before that one have been settled.
 */
export function settlePlaces(
  segment: Segment,
  places: ArrayLike<unknown>,
  settling: Settling,
  done: () => void,
): number {
  return new Dealer(segment, settling, done).deal(places);
}

/** Tells all who are still there that it has come to nothing. */
export function failEntries(
  segment: Segment,
  error: unknown,
  outcome: FailedOutcome,
  settling: Settling,
  now: number,
): void {
  for (let index = 0; index < segment.length; index += 1) {
    const sink = segment.sinks[index] as Sink | null;
    if (sink === null) continue;
    segment.sinks[index] = null;
    segment.noteGone(1, segment.costAt(index));
    if (typeof sink === "function" || !sink.countsItself) settling.count(outcome, now - segment.timeAt(index));
    fail(sink, error, outcome, now, segment.positionAt(index));
  }
}

/** For an answer that comes too late or has the wrong shape: what its promises come to interests nobody. */
export function ignorePlaces(places: unknown): void {
  if (!Array.isArray(places)) return;
  try {
    for (const place of Object.values(places)) if (isThenable(place)) Promise.resolve(place).catch(() => {});
  } catch {
    return;
  }
}

class Dealer {
  readonly #segment: Segment;
  readonly #settling: Settling;
  readonly #done: () => void;
  readonly #now: number;
  #late = 0;
  #settled = 0;
  /** Completed callers of the turn being dealt that are still to be counted, but for those that `deal` counts itself. */
  #completed = 0;
  /** Completed callers of each turn that has been dealt. */
  readonly #counts: number[] = [];

  constructor(segment: Segment, settling: Settling, done: () => void) {
    this.#segment = segment;
    this.#settling = settling;
    this.#done = done;
    this.#now = settling.clock.now();
  }

  deal(places: ArrayLike<unknown>): number {
    const { moments, sinks, length } = this.#segment;
    const now = this.#now;
    let turn = 0;
    let end = moments.endOfNth(0, length);
    let plain = 0;
    try {
      for (let index = 0; index < length; index += 1) {
        if (index === end) {
          this.#closeTurn(turn, plain);
          plain = 0;
          turn += 1;
          end = moments.endOfNth(turn, length);
        }
        // Reading a place may call a user's code, which may send the caller away: who is there is asked after it.
        const place = places[index];
        const sink = sinks[index] as Sink | null;
        if (typeof sink === "function" && (typeof place !== "object" || place === null)) {
          sinks[index] = null;
          plain += 1;
          sink(place);
        } else if (typeof place === "object" && place !== null) {
          this.#dealObject(index, place);
        } else if (sink !== null) {
          sinks[index] = null;
          if (typeof sink === "function" || sink.countsItself) this.#settled += 1;
          else plain += 1;
          succeed(sink, place, now, this.#segment.positionAt(index));
        }
      }
    } finally {
      this.#closeTurn(turn, plain);
      this.#segment.noteGone(this.#settled, 0);
      this.#settling.recordLatencies(moments, this.#counts, now);
    }
    return this.#late;
  }

  /** `plain`: completed callers of the turn that have not been put down as settled. */
  #closeTurn(turn: number, plain: number): void {
    const completed = this.#completed + plain;
    this.#settled += plain;
    this.#counts.push(completed);
    this.#completed = 0;
    if (completed > 0) this.#settling.countCompleted(completed, this.#now - this.#segment.moments.nth(turn));
  }

  /** A promise is awaited also where its caller has left: its work goes on, and nobody else would hear it fail. */
  #dealObject(index: number, place: object): void {
    const { sinks } = this.#segment;
    let error: unknown;
    try {
      if (isThenable(place)) {
        this.#await(index, place);
        return;
      }
      const sink = sinks[index] as Sink | null;
      if (!isError(place)) {
        if (sink !== null) this.#complete(sink, index, place);
        return;
      }
      error = place;
    } catch (thrown) {
      error = thrown;
    }
    const sink = sinks[index] as Sink | null;
    if (sink !== null) this.#fail(sink, index, error, this.#now);
  }

  #complete(sink: Sink, index: number, value: unknown): void {
    this.#segment.sinks[index] = null;
    this.#settled += 1;
    if (typeof sink === "function") {
      this.#completed += 1;
      sink(value);
      return;
    }
    if (!sink.countsItself) this.#completed += 1;
    sink.succeed(value, this.#now, this.#segment.positionAt(index));
  }

  #fail(sink: Sink, index: number, error: unknown, now: number): void {
    this.#segment.sinks[index] = null;
    this.#settled += 1;
    this.#countOne(sink, index, "failed", now);
    fail(sink, error, "failed", now, this.#segment.positionAt(index));
  }

  #countOne(sink: Sink, index: number, outcome: ItemOutcome, now: number): void {
    if (typeof sink !== "function" && sink.countsItself) return;
    this.#settling.count(outcome, now - this.#segment.timeAt(index));
  }

  #await(index: number, place: PromiseLike<unknown>): void {
    Promise.resolve(place)
      .then(refuseError)
      .then(
        (value) => this.#arrived(index, value, false),
        (error: unknown) => this.#arrived(index, error, true),
      );
    this.#late += 1;
  }

  #arrived(index: number, value: unknown, isFailure: boolean): void {
    const sink = this.#segment.sinks[index] as Sink | null;
    if (sink !== null) {
      const now = this.#settling.clock.now();
      this.#segment.sinks[index] = null;
      this.#segment.noteGone(1, 0);
      this.#countOne(sink, index, isFailure ? "failed" : "completed", now);
      const position = this.#segment.positionAt(index);
      if (isFailure) fail(sink, value, "failed", now, position);
      else succeed(sink, value, now, position);
    }
    this.#late -= 1;
    if (this.#late === 0) this.#done();
  }
}

function refuseError(value: unknown): unknown {
  if (isError(value)) throw value;
  return value;
}
