// Cost functions that call their own batcher while it looks for the next batch.

import type { Batcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, type Rig, rig } from "../support.ts";

/** Holds an item in each of three lanes. The function does this once, when it measures one lane. */
async function threeLanes(lane: string, act: (batcher: Batcher<string, string>) => void): Promise<Rig<string, string>> {
  let isArmed = false;
  const of = rig<string, string>({
    key: (item) => item.replace(/ .*/, ""),
    maxWaitMs: 100,
    maxBatchCost: 4,
    batchCost: (items) => {
      if (isArmed && items[0] === lane) {
        isArmed = false;
        act(of.batcher);
      }
      return items.length;
    },
  });
  for (const item of ["first", "second", "third"]) void of.batcher.submit(item);
  isArmed = true;
  await echoAll(of);
  expect(isArmed).toBe(false);
  return of;
}

describe("a cost function", () => {
  const more = ["second b", "second c", "second d"];

  test("that fills the lane it measures does not hold the full batch", async () => {
    const of = await threeLanes("second", (batcher) => void batcher.submitMany(more));
    expect(of.handler.batches).toEqual([["second", ...more]]);
  });

  test("that fills a lane measured before does not hold the full batch", async () => {
    const of = await threeLanes("third", (batcher) => void batcher.submitMany(more));
    expect(of.handler.batches).toEqual([["second", ...more]]);
  });

  test("that flushes a lane measured before does not hold its item", async () => {
    const of = await threeLanes("third", (batcher) => void batcher.flush({ key: "second" }));
    expect(of.handler.batches).toEqual([["second"]]);
  });

  test("that pauses the batcher holds the batch that was being packed", async () => {
    let pausesAt = 2;
    const of = rig<number>({
      maxBatchCost: 10,
      batchCost: (items) => {
        if (items.length === pausesAt) of.batcher.pause();
        return items.length;
      },
    });
    const answers = of.batcher.submitMany([1, 2]);
    await of.clock.settle();
    expect(of.handler.calls).toEqual([]);
    pausesAt = 0;
    of.batcher.resume();
    await echoAll(of);
    expect(await answers).toEqual([1, 2]);
  });
});
