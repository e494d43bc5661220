// What a batcher with a latency target says of the run time of each batch.

import { type BatchEvent, type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";

/** 15 ms up to 16 items, then 1.2 ms each: no straight line. */
const STEPPED = (size: number): number => Math.max(15, 1.2 * size);

/** Runs batches of these sizes, one after the other, and returns their events. */
async function run(sizes: readonly number[], options: BatchOptions<number, number>, runMs = STEPPED) {
  const clock = virtualClock();
  const handler = (items: number[]): Promise<number[]> =>
    new Promise((resolve) => clock.setTimeout(() => resolve(items), runMs(items.length)));
  const batcher = createBatcher(handler, { clock, ...options });
  const events: BatchEvent[] = [];
  batcher.on("batch", (event) => events.push(event));
  for (const size of sizes) {
    const all = batcher.submitMany(Array.from({ length: size }, (_, item) => item));
    await clock.advance(1_000);
    await all;
  }
  return events;
}

const sizes = Array.from({ length: 60 }, (_, batch) => [1, 16, 32, 48][batch % 4] ?? 1);

test("each batch has the time that was predicted for it when it started", async () => {
  const events = await run(sizes, { targetLatencyMs: 200 });
  for (const { predictedMs, runMs, size } of events.slice(-20)) {
    expect.soft((predictedMs ?? 0) / runMs, `${size} items`).toBeCloseTo(1, 1);
  }
});

test("the prediction is null while nothing is known, and without a target", async () => {
  const [first, second] = await run([4, 4, 4, 4], { targetLatencyMs: 200 });
  expect([first?.predictedMs, second?.predictedMs]).toEqual([null, null]);
  expect((await run([4, 4, 4, 4], {})).map(({ predictedMs }) => predictedMs)).toEqual([null, null, null, null]);
});

test("a handler that has become slower shows in the prediction's error, not in the prediction of that batch", async () => {
  let batches = 0;
  const events = await run(Array(40).fill(16), { targetLatencyMs: 200 }, () => (batches++ < 39 ? 15 : 45));
  const last = events.at(-1);
  expect(last?.runMs).toBe(45);
  expect(last?.predictedMs).toBeCloseTo(15, 0);
});
