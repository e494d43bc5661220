// `maxBatchCost: "learn"` for handlers that fail above a size: the learned budget stays below it.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";

const CLIENTS = 256;

interface Counts {
  readonly batches: number;
  readonly failed: number;
  /** Mean number of items in successful batches. */
  readonly meanSize: number;
}

/**
 * Results of 256 clients in a closed loop, from batch `skipped` on. `msOf`: time of a batch of n
 * items.
 */
async function served(msOf: (items: number, batches: number) => number, options: BatchOptions<number, number>) {
  const [skipped, end] = [300, 1_300];
  const clock = virtualClock();
  let [begun, batches, failed, items] = [0, 0, 0, 0];
  const batcher = createBatcher(
    async (batch: number[]) => {
      begun += 1;
      const ms = msOf(batch.length, begun);
      await new Promise<void>((resolve) => clock.setTimeout(resolve, Math.min(ms, 100)));
      if (ms === Infinity) throw new Error("out of memory");
      return batch;
    },
    { maxBatchCost: "learn", maxBatchSize: 1_024, clock, ...options },
  );
  batcher.on("batch", ({ size, error }) => {
    batches += 1;
    if (batches <= skipped || batches > end) return;
    if (error === undefined) items += size;
    else failed += 1;
  });
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (batches < end) await batcher.submit(1).catch(() => {});
  });
  while (batches < end) await clock.advance(50);
  const ended = Promise.all(clients);
  await clock.advance(60_000);
  await ended;
  return { batches, failed, meanSize: items / (end - skipped - failed) } satisfies Counts;
}

test("a handler that fails above 100 items fails seldom, and gets nearly as many", async () => {
  const { failed, meanSize } = await served((items) => (items > 100 ? Infinity : 10 + 0.1 * items), {});
  expect(failed).toBeLessThan(8);
  expect(meanSize).toBeGreaterThan(80);
});

test("a handler that exceeds its timeout above 100 items does so seldom, and gets nearly as many", async () => {
  const { failed, meanSize } = await served((items) => 10 + 0.1 * items, { handlerTimeoutMs: 20.05 });
  expect(failed).toBeLessThan(30);
  expect(meanSize).toBeGreaterThan(80);
});

test.each([1, 3])("a handler that fails above %i items gets batches of so many", async (limit) => {
  const { failed, meanSize } = await served((items) => (items > limit ? Infinity : 20), {});
  expect(failed).toBeLessThan(30);
  expect(meanSize).toBeGreaterThan(0.8 * limit);
});

test("where a handler manages half of its former size, smaller batches are learned", async () => {
  const limitAfter = (batches: number): number => (batches < 300 ? 100 : 40);
  const { failed, meanSize } = await served(
    (items, batches) => (items > limitAfter(batches) ? Infinity : 10 + 0.1 * items),
    {},
  );
  expect(failed).toBeLessThan(60);
  expect(meanSize).toBeGreaterThan(30);
});

test("an outage of all sizes ends with the sizes that succeeded before", async () => {
  const isDown = (batches: number): boolean => batches >= 200 && batches < 280;
  const { failed, meanSize } = await served(
    (items, batches) => (items > 100 || isDown(batches) ? Infinity : 10 + 0.1 * items),
    {},
  );
  expect(failed).toBeLessThan(20);
  expect(meanSize).toBeGreaterThan(80);
});

test("batches that fail whatever their size hold nothing back for long", async () => {
  const { meanSize } = await served((items, batches) => (batches % 20 === 0 ? Infinity : 10 + 0.1 * items), {});
  expect(meanSize).toBeGreaterThan(240);
});

test("batches that are rejected with undefined are failures of their size like others", async () => {
  const limits: number[] = [];
  for (const error of [undefined, new Error("out of memory")]) {
    const clock = virtualClock();
    const batcher = createBatcher(
      (items: number[]) =>
        new Promise<number[]>((resolve, reject) => {
          clock.setTimeout(() => (items.length > 40 ? reject(error) : resolve(items)), 10 + items.length);
        }),
      { maxBatchCost: "learn", clock },
    );
    for (let wave = 0; wave < 40; wave += 1) {
      const settled = batcher.submitSettled(new Array<number>(100).fill(1));
      await clock.runAll();
      await settled;
    }
    limits.push(batcher.stats().learned?.maxBatchCost ?? 0);
  }
  expect(limits[0]).toBeLessThan(50);
  expect(limits[0]).toBe(limits[1]);
});
