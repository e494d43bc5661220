// `maxBatchCost: "learn"` with deadlines: batches do not grow beyond them.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

interface Load {
  readonly clients: number;
  readonly timeoutMs: number;
  /** How long a client without an answer waits before its next submit. */
  readonly pauseMs: number;
  /** Time of a batch of this many items. */
  readonly msOf: (items: number) => number;
}

/** Number of answers that clients in a closed loop get in two seconds. */
async function answered({ clients, timeoutMs, pauseMs, msOf }: Load, options: BatchOptions<number, number>) {
  const clock = virtualClock();
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
  const run = async (items: number[]): Promise<number[]> => {
    await sleep(msOf(items.length));
    return items;
  };
  const batcher = createBatcher(run, { clock, timeoutMs, maxBatchSize: 1_024, ...options });
  let [answers, isOver] = [0, false];
  const loops = Array.from({ length: clients }, async () => {
    while (!isOver) {
      await batcher.submit(1).then(
        () => {
          answers += 1;
        },
        () => sleep(pauseMs),
      );
    }
  });
  await clock.advance(2_000);
  isOver = true;
  const ended = Promise.all(loops);
  await clock.advance(60_000);
  await ended;
  return answers;
}

const LEARN = { maxBatchCost: "learn" } as const;

describe("a learned budget", () => {
  test.each<[name: string, load: Load, concurrency: number]>([
    ["an item takes long", { clients: 256, timeoutMs: 50, pauseMs: 20, msOf: (items) => items }, 4],
    ["a batch takes long", { clients: 128, timeoutMs: 50, pauseMs: 100, msOf: (items) => 5 + 0.5 * items }, 1],
  ])("keeps batches within deadlines where %s: as many answers as with a cap of 32", async (_, load, concurrency) => {
    const capped = await answered(load, { maxBatchSize: 32, concurrency });
    expect(await answered(load, { ...LEARN, concurrency })).toBeGreaterThan(0.95 * capped);
  });

  test("keeps batches large where callers expire because they waited, and smaller ones would be slower", async () => {
    const load = { clients: 128, timeoutMs: 50, pauseMs: 0, msOf: (items: number) => 10 + 0.1 * items };
    expect(await answered(load, { maxBatchSize: 32 })).toBeLessThan(1_000);
    expect(await answered(load, LEARN)).toBeGreaterThan(9_000);
    const slow = { ...load, msOf: (items: number) => 30 + 0.1 * items };
    expect(await answered(slow, LEARN)).toBeGreaterThan(2_500);
  });
});
