import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig } from "../support.ts";

describe("priorities", () => {
  test("put higher before lower, in order of arrival among equals", async () => {
    const of = rig<string>({ maxBatchSize: 2 });
    const priorities: Record<string, number> = { a: 0, b: 5, c: -1, d: 5, e: 0, f: 0.5 };
    for (const [item, priority] of Object.entries(priorities)) void of.batcher.submit(item, { priority });
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      ["b", "d"],
      ["f", "a"],
      ["e", "c"],
    ]);
  });

  test("stay in order of arrival when submitted over time", async () => {
    const of = rig<number>({ maxBatchSize: 3 });
    void of.batcher.submit(-1);
    await of.clock.settle();
    for (const item of range(30)) {
      void of.batcher.submit(item, { priority: item % 3 });
      await of.clock.advance(1);
    }
    await echoAll(of);
    const order = of.handler.batches.flat().slice(1);
    expect(order).toEqual([...range(30)].sort((a, b) => (b % 3) - (a % 3) || a - b));
  });

  test("share a batch when there is room: the urgent one leads it", async () => {
    const of = rig<string>();
    void of.batcher.submit("later");
    void of.batcher.submit("urgent", { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([["urgent", "later"]]);
  });

  test("go across keys: the most urgent item chooses the key", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 8 });
    void of.batcher.submit("a1");
    void of.batcher.submit("b1", { priority: 1 });
    void of.batcher.submit("b2");
    await echoAll(of);
    expect(of.handler.batches).toEqual([["b1", "b2"], ["a1"]]);
  });

  test("are still known when one of them comes again after many others", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 1 });
    void of.batcher.submitMany(["a0", "a1"]);
    await of.clock.settle();
    const leave = new AbortController();
    const left = of.batcher.submit("a2", { priority: 50, signal: leave.signal });
    await of.clock.settle();
    leave.abort();
    await expect(left).rejects.toBe(leave.signal.reason);
    for (const priority of range(40)) void of.batcher.submit(`b${priority}`, { priority });
    void of.batcher.submit("a3", { priority: 50 });
    await echoAll(of);
    expect(of.handler.batches.flat().slice(0, 3)).toEqual(["a0", "a3", "b39"]);
  });

  test("never let a batch grow over its cost cap to take an urgent item in", async () => {
    const of = rig<number>({ cost: (item) => item, maxBatchCost: 10 });
    void of.batcher.submit(4);
    void of.batcher.submit(5, { priority: 1 });
    void of.batcher.submit(6, { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([[5], [6, 4]]);
  });

  test.each(["high", Number.NaN, null, {}])("must be numbers: %s is refused", async (priority) => {
    const error = await reasonOf(rig().batcher.submit("a", { priority: priority as never }));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("aging", () => {
  test("raises an item's priority by one for each `priorityAgingMs` it has waited", async () => {
    const of = rig<string>({ maxBatchSize: 1, priorityAgingMs: 100 });
    void of.batcher.submit("running");
    await of.clock.settle();
    void of.batcher.submit("old");
    await of.clock.advance(250);
    void of.batcher.submit("one", { priority: 1 });
    void of.batcher.submit("two", { priority: 2 });
    void of.batcher.submit("three", { priority: 3 });
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(["running", "three", "old", "two", "one"]);
  });

  test("keeps a flood of urgent items from starving a humble one", async () => {
    const of = rig<string>({ maxBatchSize: 1, priorityAgingMs: 50 });
    void of.batcher.submitMany(["urgent", "urgent"], { priority: 3 });
    const humble = of.batcher.submit("humble", { priority: 0 });
    let answered = false;
    void humble.then(() => {
      answered = true;
    });
    let rounds = 0;
    while (!answered && rounds < 100) {
      rounds += 1;
      void of.batcher.submit("urgent", { priority: 3 });
      await of.clock.advance(10);
      await echo(of);
    }
    expect(rounds * 10).toBeGreaterThanOrEqual(150);
    expect(rounds * 10).toBeLessThanOrEqual(200);
    await echoAll(of);
  });

  test("is 10 s a step unless set otherwise", async () => {
    const of = rig<string>({ maxBatchSize: 1 });
    void of.batcher.submit("running");
    await of.clock.settle();
    void of.batcher.submit("old");
    await of.clock.advance(9_999);
    void of.batcher.submit("one", { priority: 1 });
    await echo(of);
    expect(of.handler.batches[1]).toEqual(["one"]);
    await of.clock.advance(1);
    void of.batcher.submit("another", { priority: 1 });
    await echo(of);
    expect(of.handler.batches[2]).toEqual(["old"]);
    await echoAll(of);
  });

  test("can be turned off with Infinity", async () => {
    const of = rig<string>({ maxBatchSize: 1, priorityAgingMs: Number.POSITIVE_INFINITY });
    void of.batcher.submit("running");
    await of.clock.settle();
    void of.batcher.submit("old");
    await of.clock.advance(10_000_000);
    void of.batcher.submit("new", { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(["running", "new", "old"]);
  });
});

describe("`smallCallFirst`", () => {
  test("lets small calls of submitMany go before larger ones", async () => {
    const of = rig<string>({ maxBatchSize: 2, smallCallFirst: 2 });
    void of.batcher.submitMany(["big1", "big2", "big3"]);
    void of.batcher.submitMany(["small1", "small2"]);
    void of.batcher.submit("single");
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      ["small1", "small2"],
      ["single", "big1"],
      ["big2", "big3"],
    ]);
  });

  test("does not go over priorities", async () => {
    const of = rig<string>({ maxBatchSize: 2, smallCallFirst: 1 });
    void of.batcher.submit("small");
    void of.batcher.submitMany(["big1", "big2"], { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([["big1", "big2"], ["small"]]);
  });

  test("does not starve the large ones: they age", async () => {
    const of = rig<string>({ maxBatchSize: 2, smallCallFirst: 1, priorityAgingMs: 100 });
    void of.batcher.submit("running");
    await of.clock.settle();
    const large = of.batcher.submitMany(["big1", "big2"]);
    await of.clock.advance(100);
    void of.batcher.submit("small1");
    void of.batcher.submit("small2");
    await echoAll(of);
    expect(of.handler.batches).toEqual([["running"], ["big1", "big2"], ["small1", "small2"]]);
    expect(await large).toEqual(["big1", "big2"]);
  });

  test("is off by default", async () => {
    const of = rig<string>({ maxBatchSize: 2 });
    void of.batcher.submitMany(["big1", "big2", "big3"]);
    void of.batcher.submit("single");
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(["big1", "big2", "big3", "single"]);
  });
});

describe("`fairBy`", () => {
  const tenant = (item: string): string => item.slice(0, 1);

  test("lets a tenant with little through a flood of another's", async () => {
    const of = rig<string>({ fairBy: tenant, maxBatchSize: 4 });
    void of.batcher.submitMany(range(100).map((index) => `a${index}`));
    void of.batcher.submitMany(["b0", "b1"]);
    await echo(of);
    expect(of.handler.batches[0]?.filter((item) => item.startsWith("b"))).toEqual(["b0", "b1"]);
    await echoAll(of);
  });

  test("shares by cost: one with costly items gets fewer of them", async () => {
    const of = rig<string>({ fairBy: tenant, cost: (item) => (item.startsWith("a") ? 9 : 3), maxBatchCost: 36 });
    void of.batcher.submitMany(range(40).flatMap((index) => [`a${index}`, `b${index}`]));
    await echo(of);
    await echo(of);
    await echo(of);
    const served = of.handler.batches.slice(0, 3).flat();
    const [a, b] = ["a", "b"].map((name) => served.filter((item) => item.startsWith(name)).length);
    expect(Math.abs((a as number) * 9 - (b as number) * 3)).toBeLessThanOrEqual(9 + 9);
    await echoAll(of);
  });

  test("keeps each tenant's own items in order, and loses none", async () => {
    const of = rig<string>({ fairBy: tenant, maxBatchSize: 7, concurrency: 2 });
    const items = range(200).map((index) => `${"abcd"[(index * index) % 4]}${index}`);
    const results = of.batcher.submitMany(items);
    await echoAll(of);
    expect(await results).toEqual(items);
    for (const name of "abcd") {
      const own = items.filter((item) => item.startsWith(name));
      expect(of.handler.batches.flat().filter((item) => item.startsWith(name))).toEqual(own);
    }
  });

  test("keeps to priorities first", async () => {
    const of = rig<string>({ fairBy: tenant, maxBatchSize: 2 });
    void of.batcher.submitMany(["a0", "b0"]);
    void of.batcher.submitMany(["a1", "a2"], { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      ["a1", "a2"],
      ["a0", "b0"],
    ]);
  });
});
