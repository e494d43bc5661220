// Deals a handler's results out to the callers of a batch, each its own. A place that holds an Error rejects its caller
// alone; a place that holds a promise is settled when the promise is. Entries whose caller has left are passed over.

import { fail, succeed } from "./callers.ts";
import { isThenable } from "./dedupe.ts";
import { isError } from "./errors.ts";
import type { Segment, Sink } from "./segment.ts";
import type { ItemOutcome } from "./stats.ts";

/** What settling needs of its surroundings. */
export interface Settling {
  readonly clock: { now(): number };
  /** Counts callers that do not count themselves, all submitted at one time. */
  count(outcome: ItemOutcome, latencyMs: number, times: number): void;
}

/** Settles the places of a batch. Returns how many hold a promise; `done` is called when the last of those settles. */
export function settlePlaces(
  segment: Segment,
  places: ArrayLike<unknown>,
  settling: Settling,
  done: () => void,
): number {
  return new Dealer(segment, settling, done).deal(places);
}

class Dealer {
  readonly #segment: Segment;
  readonly #settling: Settling;
  readonly #done: () => void;
  readonly #now: number;
  #late = 0;
  #settled = 0;
  /** Completed callers submitted at `#runTime` that are still to be counted. */
  #runLength = 0;
  #runTime = 0;

  constructor(segment: Segment, settling: Settling, done: () => void) {
    this.#segment = segment;
    this.#settling = settling;
    this.#done = done;
    this.#now = settling.clock.now();
  }

  deal(places: ArrayLike<unknown>): number {
    const { sinks, times } = this.#segment;
    const { length } = sinks;
    for (let index = 0; index < length; index += 1) {
      const sink = sinks[index] as Sink | null;
      if (sink === null) continue;
      const place = places[index];
      if (typeof place === "object" && place !== null) {
        this.#dealObject(sink, index, place);
        continue;
      }
      if (typeof sink === "function") {
        sinks[index] = null;
        this.#settled += 1;
        this.#countCompleted(times[index] as number);
        sink(place);
      } else {
        this.#complete(sink, index, place);
      }
    }
    this.#countRun();
    this.#segment.live -= this.#settled;
    return this.#late;
  }

  #dealObject(sink: Sink, index: number, place: object): void {
    try {
      if (isError(place)) this.#fail(sink, index, place, this.#now);
      else if (isThenable(place)) this.#await(index, place);
      else this.#complete(sink, index, place);
    } catch (error) {
      this.#fail(sink, index, error, this.#now);
    }
  }

  #complete(sink: Sink, index: number, value: unknown): void {
    this.#segment.sinks[index] = null;
    this.#settled += 1;
    if (typeof sink === "function" || !sink.countsItself) this.#countCompleted(this.#segment.times[index] as number);
    succeed(sink, value, this.#now);
  }

  #fail(sink: Sink, index: number, error: unknown, now: number): void {
    this.#segment.sinks[index] = null;
    this.#settled += 1;
    this.#countOne(sink, index, "failed", now);
    fail(sink, error, "failed", now);
  }

  /** Counts runs of callers with the same submit time at once: in a batch most have. */
  #countCompleted(time: number): void {
    if (time !== this.#runTime) {
      this.#countRun();
      this.#runTime = time;
    }
    this.#runLength += 1;
  }

  #countRun(): void {
    if (this.#runLength > 0) this.#settling.count("completed", this.#now - this.#runTime, this.#runLength);
    this.#runLength = 0;
  }

  #countOne(sink: Sink, index: number, outcome: ItemOutcome, now: number): void {
    if (typeof sink !== "function" && sink.countsItself) return;
    this.#settling.count(outcome, now - (this.#segment.times[index] as number), 1);
  }

  #await(index: number, place: PromiseLike<unknown>): void {
    this.#late += 1;
    Promise.resolve(place).then(
      (value) => this.#arrived(index, value, isError(value)),
      (error: unknown) => this.#arrived(index, error, true),
    );
  }

  #arrived(index: number, value: unknown, isFailure: boolean): void {
    const sink = this.#segment.sinks[index] as Sink | null;
    if (sink !== null) {
      const now = this.#settling.clock.now();
      this.#segment.sinks[index] = null;
      this.#segment.live -= 1;
      this.#countOne(sink, index, isFailure ? "failed" : "completed", now);
      if (isFailure) fail(sink, value, "failed", now);
      else succeed(sink, value, now);
    }
    this.#late -= 1;
    if (this.#late === 0) this.#done();
  }
}
