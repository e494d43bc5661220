// How free slots share the waiting items when the cost of a call is learned.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

/**
 * Two slots; a call takes 40 ms and 1 ms per unit of cost. Each burst arrives in one turn, and its
 * batches are answered.
 */
function slots(options: BatchOptions<number, number>): {
  readonly burst: (count: number) => Promise<readonly number[]>;
} {
  const clock = virtualClock();
  let sizes: number[] = [];
  const batcher = createBatcher(
    async (items: number[]) => {
      sizes.push(items.length);
      const cost = items.length * Math.max(...items);
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 40 + cost));
      return items;
    },
    { cost: (item) => item, concurrency: 2, clock, ...options },
  );
  const burst = async (count: number): Promise<readonly number[]> => {
    sizes = [];
    const answers = batcher.submitMany(new Array<number>(count).fill(5));
    await clock.advance(100_000);
    await answers;
    return sizes;
  };
  return { burst };
}

describe.each<[string, BatchOptions<number, number>]>([
  ['maxBatchCost: "learn"', { maxBatchCost: "learn", order: "fifo" }],
  ['order: "length"', { order: "length", maxBatchCost: 1_000 }],
  ["both", { maxBatchCost: "learn" }],
])("with %s", (_name, options) => {
  test("free slots share work that costs more than a call", async () => {
    const { burst } = slots(options);
    for (let time = 0; time < 40; time += 1) await burst(10 + (time % 7) * 10);
    const [first = 0, second = 0] = await burst(40);
    for (const size of [first, second]) {
      expect(size).toBeGreaterThanOrEqual(16);
      expect(size).toBeLessThanOrEqual(22);
    }
  });

  test("work that costs less than a call goes as one batch, and the other slot stays free", async () => {
    const { burst } = slots(options);
    for (let time = 0; time < 40; time += 1) await burst(10 + (time % 7) * 10);
    expect(await burst(6)).toEqual([6]);
  });
});

test("each of as many keys as slots goes as one batch", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const handler = async (items: number[]): Promise<number[]> => {
    sizes.push(items.length);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 4 + items.length));
    return items;
  };
  const key = (item: number): string => String(item % 4);
  const batcher = createBatcher(handler, { clock, concurrency: 4, maxBatchSize: 32, key, maxBatchCost: "learn" });
  for (let wave = 0; wave < 40; wave += 1) {
    sizes.length = 0;
    const answers = batcher.submitMany(Array.from({ length: 128 }, (_, item) => item));
    await clock.advance(1_000);
    await answers;
  }
  expect(sizes).toEqual([32, 32, 32, 32]);
});

test("items that may not go while the batcher is paused make no share of a flush larger", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const handler = async (items: string[]): Promise<string[]> => {
    sizes.push(items.length);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 3 * items.length));
    return items;
  };
  const options = { clock, concurrency: 4, maxBatchCost: "learn", key: (item: string) => item } as const;
  const batcher = createBatcher(handler, options);
  for (let wave = 0; wave < 20; wave += 1) {
    const answers = batcher.submitMany(new Array<string>(4 + ((wave * 7) % 60)).fill("a"));
    await clock.advance(1_000);
    await answers;
  }
  batcher.pause();
  sizes.length = 0;
  const held = batcher.submitSettled(new Array<string>(200).fill("b"));
  const answers = batcher.submitMany(new Array<string>(16).fill("a"));
  void batcher.flush({ key: "a" });
  await clock.advance(1_000);
  await answers;
  expect(sizes).toHaveLength(4);
  await batcher.close({ drain: false });
  await held;
});
