// Behaviour that users of mixedbread's `batched` rely on, and its surprises. docs/coming-from.md
// refers to these tests.

import { batch, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { echo, echoAll, range, rig } from "../support.ts";
import { compiled } from "./compiled.ts";
import type * as Ported from "./fixtures/ported-classes.ts";

describe("calls", () => {
  test("an item may itself be a list: only submitMany takes many", async () => {
    const sum = batch((lists: number[][]) => lists.map((list) => list.reduce((total, value) => total + value, 0)));
    expect(await sum([1, 2, 3])).toBe(6);
    expect(await sum.submitMany([[1, 2], [], [3]])).toEqual([3, 0, 3]);
  });

  test("a call with many of which some fail keeps the others' results", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const answers = of.batcher.submitSettled([0, 1, 2, 3]);
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("first batch"));
    await echoAll(of);
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "fulfilled"]);
  });
});

describe("when a batch goes", () => {
  test("a batch that fills up 20 ms into a wait of 100 ms goes then", async () => {
    const of = rig<string>({ maxBatchSize: 2, maxWaitMs: 100 });
    const first = of.batcher.submit("a");
    await of.clock.advance(20);
    const second = of.batcher.submit("b");
    await echo(of);
    expect([await first, await second]).toEqual(["a", "b"]);
    expect(of.clock.now()).toBe(20);
  });

  test("the odd one left over after whole batches waits for nothing but the slot", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const answers = of.batcher.submitMany(range(5));
    await echoAll(of);
    expect(await answers).toEqual(range(5));
    expect(of.handler.batches).toEqual([[0, 1], [2, 3], [4]]);
    expect(of.clock.now()).toBe(0);
  });
});

describe("order", () => {
  test("a small call goes before the rest of a large one, in its very next batch", async () => {
    const of = rig<number>({ maxBatchSize: 4, smallCallFirst: 8 });
    const large = of.batcher.submitMany(range(40));
    await of.clock.settle();
    const small = of.batcher.submitMany([100, 101]);
    await echoAll(of);
    await Promise.all([large, small]);
    expect(of.handler.batches[1]).toEqual([100, 101, 4, 5]);
  });

  test("equals keep their order, in one batch and over several", async () => {
    const of = rig<number>({ maxBatchSize: 4, smallCallFirst: 20 });
    const answers = of.batcher.submitMany(range(10));
    await echoAll(of);
    await answers;
    expect(of.handler.batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
  });

  test("shorter items go first where each submit gives its length as a negative priority", async () => {
    const of = rig<string>({ maxBatchSize: 2 });
    const answers = ["dddd", "a", "ccc", "bb"].map((item) => of.batcher.submit(item, { priority: -item.length }));
    await echoAll(of);
    await Promise.all(answers);
    expect(of.handler.batches).toEqual([
      ["a", "bb"],
      ["ccc", "dddd"],
    ]);
  });

  test("`submitMany` sorts by length with `priority` as a function, and gives the results in the order of its items", async () => {
    const of = rig<string>({ maxBatchSize: 2 });
    const items = ["dddd", "a", "ccc", "bb"];
    const answers = of.batcher.submitMany(items, { priority: (item) => item.length });
    await echoAll(of);
    expect(await answers).toEqual(items);
    expect(of.handler.batches).toEqual([
      ["dddd", "ccc"],
      ["bb", "a"],
    ]);
  });
});

describe("length caps", () => {
  test("lengths 6, 6, 3, 25 and 1 under a cap of 10 are four batches; the oversize one runs alone", async () => {
    const of = rig<string>({ cost: ({ length }) => length, maxBatchCost: 10, oversize: "alone" });
    const answers = of.batcher.submitMany([6, 6, 3, 25, 1].map((length) => "x".repeat(length)));
    await echoAll(of);
    await answers;
    expect(of.handler.batches.map((items) => items.map(({ length }) => length))).toEqual([[6], [6, 3], [25], [1]]);
  });
});

describe("cache", () => {
  test("a Map will do for a cache, and is its owner's to fill and to clear", async () => {
    const cache = new Map([["warm", 4]]);
    const calls: string[][] = [];
    const lengthOf = batch(
      (texts: string[]) => {
        calls.push(texts);
        return texts.map(({ length }) => length);
      },
      { dedupe: (text) => text, cache },
    );
    expect(await Promise.all(["warm", "cold", "cold"].map((text) => lengthOf(text)))).toEqual([4, 4, 4]);
    cache.clear();
    expect(await lengthOf("warm")).toBe(4);
    expect(calls).toEqual([["cold"], ["warm"]]);
    expect(lengthOf.stats()).toMatchObject({ submitted: 4, cacheHits: 1, deduped: 1 });
  });
});

describe("statistics", () => {
  test("two snapshots differ by the events in between", async () => {
    const clock = virtualClock();
    const batcher = createBatcher((items: string[]) => items, { clock });
    await batcher.submitMany(["a", "b"]);
    const before = batcher.stats();
    await batcher.submitMany(["c"]);
    const after = batcher.stats();
    expect([after.completed - before.completed, after.batches - before.batches]).toEqual([1, 1]);
  });

  test("clear_stats() is resetStats()", async () => {
    const batcher = createBatcher((items: string[]) => items, { clock: virtualClock() });
    await batcher.submitMany(["a", "b"]);
    batcher.resetStats();
    expect(batcher.stats()).toMatchObject({ submitted: 0, completed: 0, batches: 0 });
    await batcher.submit("c");
    expect(batcher.stats()).toMatchObject({ submitted: 1, completed: 1, batches: 1 });
  });

  test("avg_processing_time is the mean of `runMs`", async () => {
    const of = rig<string>({ maxBatchSize: 1 });
    for (const runMs of [10, 30]) {
      const answer = of.batcher.submit("a");
      await of.clock.advance(runMs);
      await echo(of);
      await answer;
    }
    expect(of.batcher.stats().runMs.mean).toBe(20);
  });
});

describe.each(["standard", "legacy"] as const)(
  "a class with `@batched.dynamically`, ported with a %s decorator",
  (form) => {
    let SentenceEmbedder: typeof Ported.SentenceEmbedder;
    beforeAll(async () => {
      ({ SentenceEmbedder } = await compiled<typeof Ported>("ported-classes", form));
    });

    test("takes one item or many, and merges them", async () => {
      const embedder = new SentenceEmbedder();
      const answers = [embedder.embedOne("a"), embedder.embed(["bb", "ccc"]), embedder.embedOne("dddd")];
      expect(await Promise.all(answers)).toEqual([1, [2, 3], 4]);
      expect(embedder.sizes).toEqual([4]);
    });

    test("has the statistics of each instance, before its first call too", async () => {
      const [one, two] = [new SentenceEmbedder(), new SentenceEmbedder()];
      expect(one.stats).toMatchObject({ completed: 0, batches: 0 });
      await one.embed(["a", "b"]);
      expect(one.stats).toMatchObject({ waiting: 0, completed: 2, batches: 1, averageBatchSize: 2 });
      expect(two.stats).toMatchObject({ completed: 0, batches: 0 });
    });
  },
);
