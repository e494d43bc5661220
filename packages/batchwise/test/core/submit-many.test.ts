import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

const refuseOdd = (items: number[]): (number | Error)[] =>
  items.map((item) => (item % 2 === 0 ? item : new Error(`odd: ${item}`)));

describe("submitMany()", () => {
  test("resolves with the results in the order of its items, over as many batches as it takes", async () => {
    const of = rig<number>({ maxBatchSize: 4, concurrency: 3 });
    const results = of.batcher.submitMany(range(10));
    await of.clock.settle();
    for (const call of [...of.handler.open].reverse()) call.answer((item) => item);
    await echoAll(of);
    expect(await results).toEqual(range(10));
    expect(of.handler.batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
  });

  test("resolves with an empty array for no items, and does not call the handler", async () => {
    const { batcher, handler } = rig();
    expect(await batcher.submitMany([])).toEqual([]);
    expect(handler.calls).toHaveLength(0);
    expect(batcher.stats().submitted).toBe(0);
  });

  test("travels with the single submits of the same turn", async () => {
    const of = rig<number>();
    void of.batcher.submit(1);
    void of.batcher.submitMany([2, 3]);
    void of.batcher.submit(4);
    await echo(of);
    expect(of.handler.batches).toEqual([[1, 2, 3, 4]]);
  });

  test("rejects with the first failure while the rest continue", async () => {
    const of = rig<number>({ maxBatchSize: 1 });
    const call = watch(of.batcher.submitMany([0, 1, 2]));
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("first"));
    await of.clock.settle();
    expect(call).toMatchObject({ state: "rejected", reason: new Error("first") });
    await echoAll(of);
    expect(of.handler.batches).toEqual([[0], [1], [2]]);
    expect(of.batcher.stats()).toMatchObject({ completed: 2, failed: 1 });
  });

  test("rejects once however many of its items fail", async () => {
    const batcher = createBatcher(refuseOdd);
    expect(await reasonOf(batcher.submitMany(range(9)))).toEqual(new Error("odd: 1"));
    expect(batcher.stats()).toMatchObject({ completed: 5, failed: 4 });
  });

  test("takes its items as they are at the call", async () => {
    const of = rig<number>();
    const items = [1, 2, 3];
    const results = of.batcher.submitMany(items);
    items.length = 0;
    await echo(of);
    expect(await results).toEqual([1, 2, 3]);
  });

  test.each([["a string"], [undefined], [{ length: 2 }]])("refuses %j for its items", async (items) => {
    const { batcher } = rig();
    const error = await reasonOf(batcher.submitMany(items as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("gives its options to each of its items", async () => {
    const of = rig<string>({ maxBatchCost: 10 });
    void of.batcher.submitMany(["a", "b", "c"], { cost: 5, priority: 7, key: "k", context: "mine" });
    await of.clock.settle();
    const { context, items } = of.handler.calls[0] ?? {};
    expect(items).toEqual(["a", "b"]);
    expect(context).toMatchObject({ key: "k", cost: 10 });
    expect(context?.requests).toMatchObject([
      { context: "mine", priority: 7 },
      { context: "mine", priority: 7 },
    ]);
  });

  test("ends all of its items with one signal", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const leave = new AbortController();
    const call = of.batcher.submitMany(range(5), { signal: leave.signal });
    await of.clock.settle();
    leave.abort(new Error("enough"));
    expect(await reasonOf(call)).toEqual(new Error("enough"));
    expect(of.batcher.stats()).toMatchObject({ cancelled: 5, waiting: 0 });
  });

  test("gets through a queue that is much smaller than the call", async () => {
    const of = rig<number>({ maxBatchSize: 3, maxQueueSize: 2 });
    const results = of.batcher.submitMany(range(50));
    await echoAll(of);
    expect(await results).toEqual(range(50));
  });

  test("rejects when the queue takes only some of its items, and those still run", async () => {
    const of = rig<number>({ maxQueueSize: 3, onFull: "reject" });
    const first = of.batcher.submit(0);
    const error = await reasonOf(of.batcher.submitMany([1, 2, 3]));
    expect(error).toMatchObject({ code: "QUEUE_FULL", retryable: true });
    await echoAll(of);
    expect(await first).toBe(0);
    expect(of.handler.batches).toEqual([[0, 1, 2]]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 4, completed: 3, rejected: 1 });
  });

  test("of more items than the queue can ever hold is refused as a whole and is not retryable, with both numbers", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject" });
    const error = await reasonOf(of.batcher.submitMany(range(5)));
    expect(error).toMatchObject({ code: "QUEUE_FULL", retryable: false });
    expect((error as Error).message).toMatch(/5 items.*2 \(maxQueueSize\)/);
    await echoAll(of);
    expect(of.handler.batches).toEqual([]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 5, completed: 0, rejected: 5 });
    expect(await Promise.allSettled([of.batcher.submitMany([1, 2]), echoAll(of)])).toMatchObject([
      { value: [1, 2] },
      {},
    ]);
  });
});

describe("submitSettled()", () => {
  test("resolves with each item's own outcome, in order", async () => {
    const settled = await createBatcher(refuseOdd).submitSettled([0, 1, 2]);
    expect(settled).toEqual([
      { status: "fulfilled", value: 0 },
      { status: "rejected", reason: new Error("odd: 1") },
      { status: "fulfilled", value: 2 },
    ]);
  });

  test("never rejects for an item, also when the whole batch fails", async () => {
    const failure = new Error("all of it");
    const settled = await createBatcher((): number[] => {
      throw failure;
    }).submitSettled([1, 2]);
    expect(settled).toEqual([
      { status: "rejected", reason: failure },
      { status: "rejected", reason: failure },
    ]);
  });

  test("reports refused items beside those that were answered", async () => {
    const of = rig<number>({ cost: (item) => item, maxBatchCost: 10 });
    const settled = of.batcher.submitSettled([5, 11, Number.NaN]);
    await echoAll(of);
    const [fine, large, broken] = await settled;
    expect(fine).toEqual({ status: "fulfilled", value: 5 });
    expect(large).toMatchObject({ status: "rejected", reason: { code: "ITEM_TOO_LARGE" } });
    expect(broken).toMatchObject({ status: "rejected", reason: { code: "INVALID_OPTION" } });
  });

  test("resolves with nothing for no items", async () => {
    expect(await rig().batcher.submitSettled([])).toEqual([]);
  });
});

test.each(["0", "2"])("an array that says its length is the text %o is refused as none", async (length) => {
  const batcher = createBatcher((items: number[]) => items);
  const items = new Proxy([1, 2, 3], {
    get: (target, name) => (name === "length" ? length : Reflect.get(target, name)),
  });
  expect(await reasonOf(batcher.submitMany(items))).toMatchObject({ code: "INVALID_OPTION" });
  expect(batcher.stats()).toMatchObject({ submitted: 0, waiting: 0 });
  await batcher.close();
});
