import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, range, rig } from "../support.ts";

describe("items with keys", () => {
  test("share batches with their own key only", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 2 });
    const results = of.batcher.submitMany(["a1", "b1", "a2", "c1", "b2", "a3"]);
    await echoAll(of);
    expect(await results).toEqual(["a1", "b1", "a2", "c1", "b2", "a3"]);
    for (const call of of.handler.calls) {
      expect(new Set(call.items.map((item) => item.slice(0, 1)))).toEqual(new Set([call.context.key]));
    }
    expect(of.handler.calls).toHaveLength(4);
  });

  test("keep their order inside each key", async () => {
    const of = rig<number>({ key: (item) => String(item % 3), maxBatchSize: 4, concurrency: 2 });
    void of.batcher.submitMany(range(60));
    await echoAll(of);
    for (const rest of range(3)) {
      const ofKey = of.handler.batches.flat().filter((item) => item % 3 === rest);
      expect(ofKey).toEqual(range(60).filter((item) => item % 3 === rest));
    }
  });

  test("take turns by age: the key whose item has waited longest goes first", async () => {
    const of = rig<string>({ key: (item) => item, maxBatchSize: 1 });
    for (const item of ["a", "b", "a", "c"]) {
      void of.batcher.submit(item);
      await of.clock.advance(1);
    }
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(["a", "b", "a", "c"]);
  });

  test("of the same age go in the order in which they came", async () => {
    const of = rig<string>({ key: (item) => item, maxBatchSize: 1 });
    const items = ["c", "a", "e", "b", "d", "f"];
    void of.batcher.submitMany(items);
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(items);
  });

  test("share the slots: one busy key does not hold up the others", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 2, concurrency: 2 });
    void of.batcher.submitMany(["a1", "a2", "b1"]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a1", "a2"], ["b1"]]);
  });

  test("fill their lanes separately: a full one goes while others are held", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 2, maxWaitMs: 100, concurrency: 9 });
    void of.batcher.submit("a1");
    await of.clock.advance(10);
    void of.batcher.submitMany(["b1", "b2", "c1"]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["b1", "b2"]]);
    await of.clock.advance(90);
    expect(of.handler.batches).toEqual([["b1", "b2"], ["a1"]]);
    await of.clock.advance(10);
    expect(of.handler.batches[2]).toEqual(["c1"]);
  });

  test("take their key from the submit where it gives one", async () => {
    const of = rig<string>({ key: () => "by option" });
    void of.batcher.submit("a", { key: "by submit" });
    void of.batcher.submit("b");
    await echoAll(of);
    expect(of.handler.calls.map(({ context }) => context.key)).toEqual(["by submit", "by option"]);
  });

  test("may get a key from a submit although the batcher has none", async () => {
    const of = rig<string>();
    void of.batcher.submit("a", { key: "k" });
    void of.batcher.submit("b");
    await echoAll(of);
    expect(of.handler.calls.map(({ context }) => context.key)).toEqual(["k", undefined]);
  });

  test("treat an empty key and no key as different", async () => {
    const of = rig<string>();
    void of.batcher.submit("a", { key: "" });
    void of.batcher.submit("b");
    await echoAll(of);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
  });

  test.each(["__proto__", "constructor", "toString"])("may be called anything: %s", async (key) => {
    const batcher = createBatcher((items: number[], context) => items.map(() => context.key), { key: () => key });
    expect(await batcher.submit(1)).toBe(key);
  });

  test("may all differ: ten thousand keys of one item each are served oldest first", async () => {
    const of = rig<number>({ key: String, concurrency: 4 });
    void of.batcher.submitMany(range(10_000));
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(range(10_000));
    expect(of.batcher.stats().batches).toBe(10_000);
  });
});
