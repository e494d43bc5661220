/**
 * Static settings without a latency target, in a discrete-event simulation that does its work once
 * a batch and not once an item: in arrival order the waiting items are a range of an array. A test
 * compares it with the engine.
 */
import { type Load, runMsOf } from "./load.ts";
import { Counter, firstFrom, type Outcome } from "./outcome.ts";
import { LARGEST } from "./services.ts";

export interface Setting {
  readonly maxBatchSize: number;
  readonly maxQueueSize: number;
  readonly onFull: "drop-oldest" | "reject";
  readonly maxWaitMs: number;
}

/** 51 sizes from 6 to 457, 9 % apart, and 13 ways to bound the queue for each. */
const SIZES = 51;
const WAYS: readonly (readonly [onFull: Setting["onFull"], batches: number, maxWaitMs: number])[] = [
  ...[0.5, 0.7, 0.85, 1, 1.2, 1.5, 2].map((batches) => ["drop-oldest", batches, 0] as const),
  ...[0.5, 1, 1.5, 3].map((batches) => ["reject", batches, 0] as const),
  ...[5, 20].map((maxWaitMs) => ["drop-oldest", 1, maxWaitMs] as const),
];

function sizes(): number[] {
  const all: number[] = [];
  for (let index = 0; index < SIZES; index += 1) {
    all.push(Math.max((all.at(-1) ?? 0) + 1, Math.round(6 * 2 ** (index / 8))));
  }
  return all;
}

/** The 663 settings. */
export function settings(): Setting[] {
  return sizes().flatMap((maxBatchSize) =>
    WAYS.map(([onFull, batches, maxWaitMs]) => {
      return { maxBatchSize, maxQueueSize: Math.round(batches * maxBatchSize), onFull, maxWaitMs };
    }),
  );
}

export function settingText({ maxBatchSize, maxQueueSize, onFull, maxWaitMs }: Setting): string {
  return `${maxBatchSize}, ${maxQueueSize}, ${onFull}${maxWaitMs > 0 ? `, ${maxWaitMs} ms` : ""}`;
}

/** The waiting items: `times[head..tail)`. */
class Waiting {
  readonly #arrivals: Float64Array;
  readonly #most: number;
  /** With drop-oldest these are all arrivals. */
  readonly times: Float64Array;
  head = 0;
  tail = 0;
  next = 0;

  constructor(arrivals: Float64Array, { maxQueueSize, onFull }: Setting) {
    this.#arrivals = arrivals;
    this.#most = maxQueueSize;
    this.times = onFull === "reject" ? new Float64Array(arrivals.length) : arrivals;
  }

  get size(): number {
    return this.tail - this.head;
  }

  get nextAt(): number {
    return this.#arrivals[this.next] ?? Infinity;
  }

  /** The time of the arrival with which `size` items wait. */
  filledAt(size: number): number {
    return this.#arrivals[this.next + size - this.size - 1] ?? Infinity;
  }

  /** Takes in what arrives up to and at this time. */
  admit(until: number): void {
    if (!(this.nextAt <= until)) return;
    const from = this.next;
    this.next = firstFrom(this.#arrivals, until + 1e-9, from, this.#arrivals.length);
    if (this.times === this.#arrivals) {
      this.tail = this.next;
      this.head = Math.max(this.head, this.tail - this.#most);
      return;
    }
    const accepted = Math.min(this.next - from, this.#most - this.size);
    this.times.set(this.#arrivals.subarray(from, from + accepted), this.tail);
    this.tail += accepted;
  }
}

export function runSetting(load: Load, setting: Setting): Outcome {
  const waiting = new Waiting(load.times, setting);
  const counter = new Counter(load);
  const freeAt = new Float64Array(load.slots);
  const most = Math.min(setting.maxBatchSize, LARGEST);
  const full = Math.min(most, setting.maxQueueSize);
  for (let batch = 0; ; batch += 1) {
    const slot = earliest(freeAt);
    let at = freeAt[slot] as number;
    waiting.admit(at);
    if (waiting.size === 0) {
      at = waiting.nextAt;
      if (at === Infinity) return counter.outcome();
      waiting.admit(at);
    }
    if (setting.maxWaitMs > 0 && waiting.size < full) {
      const heldTo = (waiting.times[waiting.head] as number) + setting.maxWaitMs;
      at = Math.max(at, Math.min(waiting.filledAt(full), heldTo));
      waiting.admit(at);
    }
    const size = Math.min(most, waiting.size);
    const endsAt = at + runMsOf(load, size, batch, at);
    counter.batch(waiting.times, waiting.head, waiting.head + size, endsAt);
    waiting.head += size;
    freeAt[slot] = endsAt;
  }
}

export function earliest(freeAt: Float64Array): number {
  let slot = 0;
  for (let other = 1; other < freeAt.length; other += 1) {
    if ((freeAt[other] as number) < (freeAt[slot] as number)) slot = other;
  }
  return slot;
}
