// A handler that fails above a size, and one that fails at random: what the cap learns of failures.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

type Fails = (size: number, call: number) => boolean;

/** Serves `perSecond` items a second for `seconds`, by a handler of 10 ms and 0.2 ms an item. */
async function serve(fails: Fails, perSecond: number, seconds: number, options: BatchOptions<number, number> = {}) {
  const clock = virtualClock();
  const sizes: number[] = [];
  const counts = { answered: 0, failed: 0, refused: 0 };
  const handler = (items: number[]): Promise<number[]> => {
    const hasFailed = fails(items.length, sizes.length);
    sizes.push(items.length);
    return new Promise((resolve, reject) => {
      clock.setTimeout(
        () => (hasFailed ? reject(new Error("too many inputs")) : resolve(items)),
        hasFailed ? 2 : 10 + 0.2 * items.length,
      );
    });
  };
  const batcher = createBatcher(handler, { clock, targetLatencyMs: 100, ...options });
  for (let step = 0; step < 200 * seconds; step += 1) {
    for (let item = 0; item < perSecond / 200; item += 1) {
      batcher.submit(item).then(
        () => void counts.answered++,
        (error: { code?: string }) => void (error.code === "OVERLOADED" ? counts.refused++ : counts.failed++),
      );
    }
    await clock.advance(5);
  }
  await clock.advance(1_000);
  return { sizes, counts, batcher };
}

/** A handler of 10 ms and 0.01 ms an item that fails at some calls. */
function lone(fails: (call: number) => boolean) {
  const clock = virtualClock();
  let calls = 0;
  const handler = (items: number[]): Promise<number[]> => {
    const hasFailed = fails(calls++);
    return new Promise((resolve, reject) => {
      clock.setTimeout(() => (hasFailed ? reject(new Error("bad input")) : resolve(items)), 10 + 0.01 * items.length);
    });
  };
  const batcher = createBatcher(handler, { clock, targetLatencyMs: 100 });
  const submit = (item: number): void => void batcher.submit(item).catch(() => {});
  return { clock, batcher, submit };
}

describe("a handler that throws above 100 items", () => {
  const fails: Fails = (size) => size > 100;

  test("runs batches close to it, and larger ones rarely", async () => {
    // 100 items take 30 ms: it can serve 3,333 a second.
    const { sizes, counts } = await serve(fails, 4_000, 6);
    const late = sizes.slice(Math.floor(sizes.length / 2));
    expect(late.filter((size) => size > 100).length / late.length).toBeLessThan(0.02);
    expect(sizes.filter((size) => size > 100).length).toBeGreaterThan(1);
    expect(counts.answered).toBeGreaterThan(0.75 * 24_000);
    expect(counts.failed).toBeLessThan(0.05 * 24_000);
  });

  test("loses no caller with `isolateFailures`", async () => {
    const { counts } = await serve(fails, 4_000, 2, { isolateFailures: true });
    expect(counts.failed).toBe(0);
    expect(counts.answered).toBeGreaterThan(0.7 * 8_000);
  });

  test("serves all where fewer come", async () => {
    const { counts } = await serve(fails, 1_000, 2);
    expect(counts).toEqual({ answered: 2_000, failed: 0, refused: 0 });
  });
});

test("a handler that fails one call in ten by chance keeps large batches", async () => {
  let seed = 7;
  const fails: Fails = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31 < 0.1;
  };
  const { sizes, counts } = await serve(fails, 4_000, 6);
  const late = sizes.slice(Math.floor(sizes.length / 2));
  // 150 items take 40 ms; two of them are within the target with their noise.
  expect(Math.max(...late)).toBeGreaterThan(120);
  expect(counts.answered / (counts.answered + counts.refused)).toBeGreaterThan(0.85);
  expect(counts.failed).toBeLessThan(0.13 * 24_000);
});

test("a limit that falls below sizes that succeeded is learned", async () => {
  const { counts } = await serve((size, call) => call >= 60 && size > 50, 4_000, 6);
  expect(counts.failed).toBeLessThan(0.05 * 24_000);
  expect(counts.answered).toBeGreaterThan(0.4 * 24_000);
});

test("a handler that fails for a while is used as before when it has recovered", async () => {
  const { counts, sizes } = await serve((_size, call) => call >= 50 && call < 400, 2_000, 8);
  const after = sizes.slice(400);
  expect(after.length).toBeGreaterThan(50);
  expect(counts.refused).toBeLessThan(500);
  expect(counts.answered + counts.failed + counts.refused).toBe(16_000);
});

test.each([
  [1, 20],
  [2, 50],
  [4, 50],
])("a fallen limit is learned with %i slots, at %i items", async (concurrency, limit) => {
  const fails: Fails = (size, call) => call >= 60 && size > limit;
  const { counts } = await serve(fails, 4_000 * concurrency, 3, { concurrency });
  expect(counts.failed).toBeLessThan(0.12 * 12_000 * concurrency);
  expect(counts.answered).toBeGreaterThan(0.25 * 12_000 * concurrency);
});

test("single requests that fail now and then change no size", async () => {
  const isBad: boolean[] = [];
  const { clock, batcher, submit } = lone((call) => isBad[call] === true);
  for (let call = 0; call < 60; call += 1) {
    const size = call < 10 ? 2 ** call : 1;
    isBad[call] = call === 20 || call === 50;
    for (let item = 0; item < size; item += 1) submit(item);
    await clock.advance(1_000);
  }
  expect(batcher.stats().learned?.maxBatchCost).toBeGreaterThan(256);
});

test("an outage ends with the sizes that were there before", async () => {
  const { sizes, counts } = await serve((_size, call) => call >= 60 && call < 200, 4_000, 6);
  expect(Math.max(...sizes.slice(-20))).toBeGreaterThan(120);
  expect(counts.refused).toBeLessThan(0.1 * 24_000);
});

test("an outage under full load ends with the sizes below the handler's limit", async () => {
  const fails: Fails = (size, call) => size > 100 || (call >= 60 && call < 200);
  const { sizes } = await serve(fails, 40_000, 3, { maxQueueSize: 500 });
  const late = sizes.slice(-40);
  expect(late.filter((size) => size > 100).length).toBeLessThan(4);
  expect(late.filter((size) => size > 80).length).toBeGreaterThan(30);
});
