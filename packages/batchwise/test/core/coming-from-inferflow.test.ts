// What users of inferflow's DynamicBatchStrategy rely on, and the cases in which its callers hang. docs/coming-from.md
// points here.

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

  test("without a wait a batch is what gathered: a burst of 20 under a cap of 8 goes as 8, 8 and 4", async () => {
    const of = rig<number>({ maxBatchSize: 8 });
    const answers = of.batcher.submitMany(range(20));
    await echoAll(of);
    expect(await answers).toEqual(range(20));
    expect(of.handler.batches.map(({ length }) => length)).toEqual([8, 8, 4]);
  });
});

describe("a full queue", () => {
  test("rejects with QUEUE_FULL, names the limit and counts it, where told to", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", maxBatchSize: 1 });
    const fates = range(6).map((item) => of.batcher.submitSettled([item]));
    await echoAll(of);
    const refused = (await Promise.all(fates)).flat().filter(({ status }) => status === "rejected");
    expect(refused.length).toBe(4);
    expect(refused[0]).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: true } });
    expect(String((refused[0] as PromiseRejectedResult).reason)).toContain("2 items are waiting (maxQueueSize)");
    expect(of.batcher.stats()).toMatchObject({ submitted: 6, completed: 2, rejected: 4 });
  });

  test("holds the submit otherwise, and lets it in as soon as there is room", async () => {
    const of = rig<number>({ maxQueueSize: 2, maxBatchSize: 2 });
    const answers = of.batcher.submitMany(range(6));
    expect(of.batcher.stats().waiting).toBe(2);
    await echoAll(of);
    expect(await answers).toEqual(range(6));
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

describe("stopping", () => {
  test("nobody is left hanging: who runs and who waits hears of it", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const fates = range(6).map((item) => watch(of.batcher.submit(item)));
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    await of.clock.settle();
    expect(fates.map(({ state }) => state)).toEqual(new Array(6).fill("rejected"));
  });
});

describe("statistics", () => {
  test("latency is each item's own, from its submit to its answer", async () => {
    const of = rig<number>();
    const answers = of.batcher.submitMany(range(10));
    await of.clock.advance(50);
    await echo(of);
    await answers;
    const { p50, max } = of.batcher.stats().latencyMs;
    expect(max).toBe(50);
    expect(p50).toBeCloseTo(50, 0);
  });

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
});
