/**
 * Rules to compare with, in the fast simulator: each decides, when a slot is free, how many of the
 * oldest items it gives up and how many of the others go.
 */
import { type Load, runMsOf } from "./load.ts";
import { Counter, firstFrom, type Outcome } from "./outcome.ts";
import { LARGEST } from "./services.ts";
import { earliest } from "./static-settings.ts";

/** The items that wait at a time: `times[head..tail)`, the oldest first. */
interface Queue {
  readonly at: number;
  readonly times: Float64Array;
  readonly head: number;
  readonly tail: number;
}

interface Decision {
  /** Items that are given up, the oldest first. */
  readonly dropped: number;
  /** Items of the batch; 0 to look again at `againAt`. */
  readonly size: number;
  readonly againAt?: number;
}

export interface Policy {
  decide(queue: Queue): Decision;
  ended(size: number, ms: number, oldestWaitedMs: number, at: number): void;
}

export function runPolicy(load: Load, policy: Policy): Outcome {
  const counter = new Counter(load);
  const freeAt = new Float64Array(load.slots);
  const { times } = load;
  let [head, tail, notBefore] = [0, 0, 0];
  for (let batch = 0; ; ) {
    const slot = earliest(freeAt);
    let at = Math.max(notBefore, freeAt[slot] as number);
    if (head === tail && !((times[tail] ?? Infinity) <= at)) {
      if (tail === times.length) return counter.outcome();
      at = times[tail] as number;
    }
    tail = firstFrom(times, at + 1e-9, tail, times.length);
    const { dropped, size, againAt = at } = policy.decide({ at, times, head, tail });
    head += dropped;
    notBefore = againAt;
    if (size === 0) continue;
    const ms = runMsOf(load, size, batch, at);
    counter.batch(times, head, head + size, at + ms);
    policy.ended(size, ms, at - (times[head] as number), at + ms);
    head += size;
    freeAt[slot] = at + ms;
    batch += 1;
  }
}

const nothing = (): void => {};

/** Each item has a `timeoutMs` of the target; batches take all that waits. */
export function timeoutsAlone({ service: { targetMs } }: Load): Policy {
  return {
    decide: ({ at, times, head, tail }) => {
      const alive = firstFrom(times, at - targetMs, head, tail);
      return { dropped: alive - head, size: Math.min(LARGEST, tail - alive) };
    },
    ended: nothing,
  };
}

/**
 * Clipper's batch size (NSDI 2017, section 4.3.1): one more while batches take less than the
 * target, 10 % less when one takes longer. With the timeouts above, because the size rule refuses
 * no item.
 */
export function aimd(load: Load): Policy {
  const { targetMs } = load.service;
  const timeouts = timeoutsAlone(load);
  let most = 1;
  return {
    decide: (queue) => {
      const { dropped, size } = timeouts.decide(queue);
      return { dropped, size: Math.min(size, Math.max(1, Math.floor(most))) };
    },
    ended: (size, ms) => {
      if (ms > targetMs) most *= 0.9;
      else if (size >= Math.floor(most)) most += 1;
    },
  };
}

/** BentoML's polling interval, samples and time between fits. */
const [TICK_MS, SAMPLES, FIT_MS] = [1, 50, 5_000];

/**
 * BentoML's dispatcher (src/bentoml/_internal/marshal/dispatcher.py): a line fitted to the last 50
 * batches every 5 seconds; the oldest is cancelled while `waited + a n + b` is over the target,
 * with n all that waits; a batch is held while `n (newest waited + 1 ms + a)` is below 0.95 of the
 * mean wait of the last 50. Without its warm-up calls, and without its default cap of 100, which
 * would cost it more.
 */
export function bentoml({ service: { targetMs } }: Load): Policy {
  let a = Math.min(2, (targetMs * 2) / 30);
  let b = Math.min(1, targetMs / 30);
  let waitMs = 0;
  let fittedAt = 0;
  const samples: { readonly size: number; readonly ms: number; readonly waited: number }[] = [];
  return {
    decide: ({ at, times, head, tail }) => {
      let first = head;
      while (tail - first > 1 && at - (times[first] as number) + a * (tail - first) + b >= targetMs) first += 1;
      const size = tail - first;
      const newest = at - (times[tail - 1] as number);
      const isHeld = size < LARGEST && size * (newest + TICK_MS + a) <= 0.95 * waitMs;
      if (isHeld) return { dropped: first - head, size: 0, againAt: at + TICK_MS };
      return { dropped: first - head, size: Math.min(size, LARGEST) };
    },
    ended: (size, ms, waited, at) => {
      samples.push({ size, ms, waited });
      if (samples.length > SAMPLES) samples.shift();
      if (at - fittedAt < FIT_MS || samples.length < 3) return;
      fittedAt = at;
      [a, b] = fitLine(samples);
      waitMs = samples.reduce((sum, one) => sum + one.waited, 0) / samples.length;
    },
  };
}

/** Least squares; the shortest solution where all sizes are equal, as numpy's `lstsq` gives. */
function fitLine(samples: readonly { readonly size: number; readonly ms: number }[]): [a: number, b: number] {
  const count = samples.length;
  const size = samples.reduce((sum, one) => sum + one.size, 0) / count;
  const ms = samples.reduce((sum, one) => sum + one.ms, 0) / count;
  const variance = samples.reduce((sum, one) => sum + (one.size - size) ** 2, 0);
  const together = samples.reduce((sum, one) => sum + (one.size - size) * (one.ms - ms), 0);
  const slope = variance > 1e-9 ? together / variance : (ms * size) / (size * size + 1);
  return [Math.max(1e-6, slope), Math.max(0, ms - slope * size)];
}

/**
 * The rule of `targetLatencyMs` with a handler whose mean times and noise are known: what learning
 * costs is the difference.
 */
export function knownTimes(load: Load, deviations = 1): Policy {
  const { runMs, slots, noise } = load;
  const { targetMs } = load.service;
  const upper = Math.exp(deviations * noise);
  let most = 1;
  for (let size = 1; size <= LARGEST; size += 1) {
    if (rate(runMs, size) > 0.999 * rate(runMs, most)) most = size;
  }
  if (slots > 2) {
    let inTime = LARGEST;
    while (inTime > 1 && (1 + 1 / slots) * upper * (runMs[inTime] as number) > targetMs) inTime -= 1;
    most = Math.max(1, Math.min(most, Math.floor(0.7 * inTime)));
  }
  return {
    decide: ({ at, times, head, tail }) => {
      let first = head;
      const isLate = (): boolean => {
        const ms = upper * (runMs[Math.min(most, tail - first)] as number);
        return at - (times[first] as number) + ms > targetMs;
      };
      while (tail - first > 1 && isLate()) first += 1;
      return { dropped: first - head, size: Math.min(most, tail - first) };
    },
    ended: nothing,
  };
}

const rate = (runMs: Float64Array, size: number): number => size / (runMs[size] as number);
