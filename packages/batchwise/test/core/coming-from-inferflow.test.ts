// Behaviour that users of inferflow's DynamicBatchStrategy rely on, and cases in which its callers
// hang. docs/coming-from.md refers to these tests.

import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, rig, watch } from "../support.ts";

describe("when a batch goes", () => {
  test("a wait is a wait: 8 items 5 ms apart under one of 500 ms are one batch", async () => {
    const of = rig<number>({ maxWaitMs: 500 });
    const answers: Promise<number>[] = [];
    for (const item of range(8)) {
      answers.push(of.batcher.submit(item));
      await of.clock.advance(5);
    }
    expect(of.handler.calls.length).toBe(0);
    await of.clock.advance(460);
    await echo(of);
    expect(await Promise.all(answers)).toEqual(range(8));
    expect(of.handler.batches).toEqual([range(8)]);
  });

  test("without a wait a batch holds the gathered items: a burst of 20 under a cap of 8 goes as 8, 8 and 4", async () => {
    const of = rig<number>({ maxBatchSize: 8 });
    const answers = of.batcher.submitMany(range(20));
    await echoAll(of);
    expect(await answers).toEqual(range(20));
    expect(of.handler.batches.map(({ length }) => length)).toEqual([8, 8, 4]);
  });
});

describe("a pipeline", () => {
  test("its three steps are `prepareItem`, `run` and `finish`, its runtime `open` and `close`", async () => {
    const steps: string[] = [];
    {
      await using pipeline = createBatcher({
        open: () => void steps.push("load"),
        prepareItem: (text: string) => text.trim(),
        run: (texts: string[]) => texts.map((text) => text.length),
        finish: (lengths: number[]) => lengths.map((length) => `${length} letters`),
        close: () => void steps.push("unload"),
      });
      expect(await pipeline.submitMany([" a ", "bb"])).toEqual(["1 letters", "2 letters"]);
      steps.push("served");
    }
    expect(steps).toEqual(["load", "served", "unload"]);
  });

  test("a runtime without a batch call answers one by one: each caller gets its own as soon as it is there", async () => {
    const waiting = new Map<string, (value: string) => void>();
    const infer = (item: string): Promise<string> => new Promise((resolve) => waiting.set(item, resolve));
    const of = rig();
    const batcher = createBatcher((items: string[]) => items.map(infer), { clock: of.clock });
    const fates = ["a", "b"].map((item) => watch(batcher.submit(item)));
    await of.clock.settle();
    waiting.get("b")?.("done");
    await of.clock.settle();
    expect(fates.map(({ state }) => state)).toEqual(["pending", "fulfilled"]);
    expect(batcher.inspect().length).toBe(1);
    waiting.get("a")?.("done");
    await of.clock.settle();
    expect(batcher.inspect()).toEqual([]);
  });
});

describe("statistics", () => {
  test("a window over the last batches is an array that the batch event fills", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const sizes: number[] = [];
    of.batcher.on("batch", ({ size }) => {
      sizes.push(size);
      if (sizes.length > 2) sizes.shift();
    });
    const answers = of.batcher.submitMany(range(5));
    await echoAll(of);
    await answers;
    expect(sizes).toEqual([2, 1]);
  });

  test("the size of the last batch is in the batch event: `running` is 0 at rest", async () => {
    const of = rig<number>();
    let lastSize = 0;
    of.batcher.on("batch", ({ size }) => {
      lastSize = size;
    });
    const answers = of.batcher.submitMany(range(3));
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 3 });
    await echoAll(of);
    await answers;
    expect([lastSize, of.batcher.stats().running]).toEqual([3, 0]);
  });
});
