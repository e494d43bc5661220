// `maxBatchCost: "learn"` for keys of different speed: learning one key is not a change of the
// other.

import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";

/**
 * Mean batch sizes of each key, for 256 clients per key in a closed loop. A call costs 5 ms x the
 * factor.
 */
async function meanSizes(factors: Readonly<Record<string, number>>): Promise<number[]> {
  const clock = virtualClock();
  const keys = Object.keys(factors);
  const counts = new Map(keys.map((key) => [key, { items: 0, batches: 0 }]));
  const batcher = createBatcher(
    async (items: string[]) => {
      const ms = (factors[items[0] as string] as number) * (5 + 0.02 * items.length);
      await new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
      return items;
    },
    { maxBatchCost: "learn", maxBatchSize: 256, concurrency: 2, key: (item) => item, clock },
  );
  batcher.on("batch", ({ key, size }) => {
    const count = counts.get(key as string);
    if (count === undefined || clock.now() < 5_000) return;
    count.items += size;
    count.batches += 1;
  });
  let isOver = false;
  const client = async (key: string): Promise<void> => {
    while (!isOver) await batcher.submit(key);
  };
  const clients = keys.flatMap((key) => Array.from({ length: 256 }, () => client(key)));
  for (let step = 0; step < 400; step += 1) await clock.advance(50);
  isOver = true;
  const ended = Promise.all(clients);
  await clock.advance(60_000);
  await ended;
  return keys.map((key) => (counts.get(key)?.items ?? 0) / (counts.get(key)?.batches ?? 1));
}

test("two keys, one of them ten times slower, both get large batches", async () => {
  for (const size of await meanSizes({ quick: 1, slow: 10 })) expect(size).toBeGreaterThan(240);
});

test("more keys than can be models learn together", async () => {
  const users = Object.fromEntries(Array.from({ length: 20 }, (_, user) => [`user ${user}`, 1]));
  for (const size of await meanSizes(users)) expect(size).toBeGreaterThan(200);
});

test("a lane that is full by a learned cap goes while another one is held", async () => {
  const clock = virtualClock();
  const keys: string[] = [];
  const batcher = createBatcher(
    async (items: string[]) => {
      keys.push(items[0] as string);
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 5 + items.length ** 2));
      return items;
    },
    { maxBatchCost: "learn", maxBatchSize: 1_000, key: (item) => item, maxWaitMs: 100, clock },
  );
  const submit = (item: string): void => void batcher.submit(item).catch(() => {});
  for (let round = 0; round < 30; round += 1) {
    for (let item = 0; item < 20; item += 1) submit("known");
    await clock.advance(500);
  }
  keys.length = 0;
  submit("held");
  await clock.advance(1);
  for (let item = 0; item < 40; item += 1) submit("full");
  await clock.advance(5_000);
  expect([keys[0], keys.includes("held")]).toEqual(["full", true]);
});

test.each([
  ["a learned cap", { maxBatchCost: "learn" }],
  ["the cap of a latency target", { targetLatencyMs: 30_000 }],
] as const)("a lane that %s fills as it falls goes then, without another submit", async (_name, options) => {
  const clock = virtualClock();
  const keys: string[] = [];
  let limit = Infinity;
  const batcher = createBatcher(
    async (items: string[]) => {
      keys.push(items[0] as string);
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 20 + items.length));
      if (items.length > limit) throw new Error("too many");
      return items;
    },
    { ...options, maxBatchSize: 1_000, key: (item) => item, maxWaitMs: 20_000, clock },
  );
  const submit = (item: string, times: number): void => {
    for (let time = 0; time < times; time += 1) void batcher.submit(item).catch(() => {});
  };
  const serve = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      submit("known", time % 4 === 0 ? 30 : 60);
      void batcher.flush({ key: "known" });
      await clock.advance(500);
    }
  };
  await serve(32);
  submit("held", 1);
  await clock.advance(1);
  submit("full", 60);
  await clock.advance(1);
  limit = 40;
  await serve(8);
  expect(keys).toContain("full");
  expect(keys).not.toContain("held");
});
