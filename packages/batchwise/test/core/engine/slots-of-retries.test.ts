import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { gate } from "../../support.ts";

test("a batch whose preparing fails before it has a slot gives back no other's slot while it pauses", async () => {
  const clock = virtualClock();
  const [first, others] = [gate(), gate()];
  const prepared: number[] = [];
  let running = 0;
  let mostRunning = 0;
  const batcher = createBatcher(
    {
      prepare: async ([item]: number[]) => {
        prepared.push(item as number);
        if (item === 2 && prepared.filter((other) => other === 2).length === 1) throw new Error("busy");
        return [item as number];
      },
      run: async (items: number[]) => {
        running += 1;
        mostRunning = Math.max(mostRunning, running);
        await (items[0] === 1 ? first : others).promise;
        running -= 1;
        return items;
      },
    },
    { clock, maxBatchSize: 1, prefetch: 1, retry: { attempts: 2, backoffMs: 50 } },
  );
  const results = batcher.submitMany([1, 2, 3]);
  await clock.advance(10);
  expect([running, mostRunning]).toEqual([1, 1]);
  await clock.advance(100);
  others.open();
  await clock.advance(10);
  expect([running, mostRunning]).toEqual([1, 1]);
  first.open();
  await clock.runAll();
  expect(await results).toEqual([1, 2, 3]);
  expect(mostRunning).toBe(1);
  expect(prepared.filter((item) => item === 2)).toHaveLength(2);
  expect(batcher.stats()).toMatchObject({ running: 0, runningBatches: 0, waiting: 0 });
});
