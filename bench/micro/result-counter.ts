/**
 * Shared by the per-item loads: the identity handler, and one callback that counts and adds up
 * results.
 *
 * Guarantees that a run with a lost, duplicate or wrong result fails instead of giving a figure.
 * The same callback is attached to every promise of every contender, so it is a part of every
 * figure.
 */
import type { Handler } from "../peers/contract.ts";

export interface ResultCounter {
  /** Resolves after this many results. */
  expect(count: number): Promise<void>;
  readonly settle: (result: number) => void;
  /** Throws unless the results since the last check add up to `sum`. */
  check(sum: number): void;
}

export function createResultCounter(): ResultCounter {
  let left = 0;
  let sum = 0;
  let finish: () => void = () => {};
  return {
    expect(count) {
      left = count;
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
    settle: (result) => {
      sum += result;
      left -= 1;
      if (left === 0) finish();
    },
    check(expected) {
      if (sum !== expected || left !== 0) {
        throw new Error(`Expected results that add up to ${expected}, got ${sum} with ${left} missing`);
      }
      sum = 0;
    },
  };
}

export interface CountedHandler {
  readonly handler: Handler;
  /** Calls since the last call of this. */
  takeBatches(): number;
}

/** Answers each item with itself, one promise job later. */
export function identityHandler(): CountedHandler {
  let batches = 0;
  return {
    handler: async (items) => {
      batches += 1;
      return items;
    },
    takeBatches() {
      const taken = batches;
      batches = 0;
      return taken;
    },
  };
}

/** The sum of 0 to count - 1. */
export function sumBelow(count: number): number {
  return (count * (count - 1)) / 2;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A contender for which warming up or measuring takes this long is warm, or measured. */
const ENOUGH_MS = 2_000;
const LEAST_RUNS = 3;

/**
 * Runs `warmups` times without and `runs` times with recording the figures; slow ones fewer times,
 * at least three.
 */
export async function warmUpAndRepeat<Figure>(
  warmups: number,
  runs: number,
  run: () => Promise<Figure>,
): Promise<Figure[]> {
  await repeat(warmups, run);
  return repeat(runs, run);
}

async function repeat<Figure>(runs: number, run: () => Promise<Figure>): Promise<Figure[]> {
  const figures: Figure[] = [];
  const started = performance.now();
  while (figures.length < runs) {
    if (figures.length >= LEAST_RUNS && performance.now() - started > ENOUGH_MS) break;
    figures.push(await run());
  }
  return figures;
}
