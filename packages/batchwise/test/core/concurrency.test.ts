import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, rig } from "../support.ts";

describe("`concurrency`", () => {
  test.each([1, 2, 5])("is the number of batches that run at once: %i", async (concurrency) => {
    const of = rig<number>({ maxBatchSize: 1, concurrency });
    void of.batcher.submitMany(range(10));
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(concurrency);
    of.handler.calls[0]?.resolve([0]);
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(concurrency);
    expect(of.handler.calls).toHaveLength(concurrency + 1);
    await echoAll(of);
    expect(of.batcher.stats().completed).toBe(10);
  });

  test("may be unbounded", async () => {
    const of = rig<number>({ maxBatchSize: 1, concurrency: Number.POSITIVE_INFINITY });
    void of.batcher.submitMany(range(500));
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(500);
    await echoAll(of);
  });

  test("lets batches end in any order", async () => {
    const of = rig<number>({ maxBatchSize: 1, concurrency: 3 });
    const results = of.batcher.submitMany(range(3));
    await of.clock.settle();
    for (const call of [...of.handler.open].reverse()) {
      call.answer((item) => item * 10);
      await of.clock.settle();
    }
    expect(await results).toEqual([0, 10, 20]);
  });

  test("frees the slot of a batch that failed", async () => {
    const of = rig({ maxBatchSize: 1 });
    of.batcher.submit("a").catch(() => {});
    void of.batcher.submit("b");
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("broken"));
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
  });
});

describe("a batch", () => {
  test("is closed at the moment a slot takes it: it grows for as long as the slots are busy", async () => {
    const of = rig<number>();
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submit(1);
    await of.clock.advance(5);
    void of.batcher.submit(2);
    of.handler.calls[0]?.resolve([0]);
    void of.batcher.submit(3);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[0], [1, 2, 3]]);
  });

  test("omits items whose callers cancelled while it waited for a slot", async () => {
    const of = rig<number>();
    void of.batcher.submit(0);
    await of.clock.settle();
    const leave = new AbortController();
    of.batcher.submit(1, { signal: leave.signal }).catch(() => {});
    void of.batcher.submit(2);
    leave.abort();
    await echo(of);
    expect(of.handler.batches).toEqual([[0], [2]]);
  });

  test("lets the most urgent in that came while it waited for a slot", async () => {
    const of = rig<number>({ maxBatchSize: 1 });
    void of.batcher.submitMany([0, 1]);
    await of.clock.settle();
    void of.batcher.submit(2, { priority: 1 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([[0], [2], [1]]);
  });

  test("holds its slot until every promise in its places has settled", async () => {
    const of = rig<string, string>({ maxBatchSize: 2 });
    const [a, b, c] = ["a", "b", "c"].map((item) => of.batcher.submit(item));
    await of.clock.settle();
    let release: (value: string) => void = () => {};
    const late = new Promise<string>((resolve) => {
      release = resolve;
    });
    of.handler.calls[0]?.resolve([late, "B"]);
    await of.clock.settle();
    expect(await b).toBe("B");
    expect(of.handler.calls).toHaveLength(1);
    release("A");
    expect(await a).toBe("A");
    await of.clock.settle();
    expect(of.handler.batches[1]).toEqual(["c"]);
    of.handler.calls[1]?.resolve(["C"]);
    expect(await c).toBe("C");
  });

  test("is listed by inspect() while it runs, with key, size and start", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), concurrency: 2 });
    await of.clock.advance(100);
    void of.batcher.submitMany(["a1", "b1", "a2"]);
    await of.clock.settle();
    const running = of.batcher.inspect();
    expect(running).toMatchObject([
      { key: "a", size: 2, startedAt: 100 },
      { key: "b", size: 1, startedAt: 100 },
    ]);
    expect(running.map(({ id }) => id)).toEqual(of.handler.calls.map(({ context }) => context.id));
    await echoAll(of);
    expect(of.batcher.inspect()).toEqual([]);
  });
});

describe("a handler that answers at once", () => {
  test("is called again and again without growing the stack", async () => {
    const batcher = createBatcher((items: number[]) => items, { maxBatchSize: 1, maxQueueSize: 100_000 });
    const items = range(50_000);
    expect(await batcher.submitMany(items)).toEqual(items);
    expect(batcher.stats().batches).toBe(50_000);
  });

  test("is not handed an item whose deadline passed while it worked on the batch before", async () => {
    const seen: number[][] = [];
    let busyMs = 0;
    const clock = virtualClock();
    const batcher = createBatcher(
      (items: number[]) => {
        seen.push(items);
        busyMs += 30;
        return items;
      },
      {
        maxBatchSize: 1,
        concurrency: 2,
        clock: {
          now: () => clock.now() + busyMs,
          setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
          clearTimeout: (handle) => clock.clearTimeout(handle),
        },
      },
    );
    const settled = await batcher.submitSettled([1, 2], { timeoutMs: 20 });
    expect(seen).toEqual([[1]]);
    expect(settled[1]).toMatchObject({ status: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
  });
});
