import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("a full queue that makes submits wait", () => {
  test("takes them in their order as room appears", async () => {
    const of = rig<number>({ maxBatchSize: 2, maxQueueSize: 3 });
    const results = range(10).map((item) => of.batcher.submit(item));
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ submitted: 10, running: 2, waiting: 3 });
    await echoAll(of);
    expect(await Promise.all(results)).toEqual(range(10));
    expect(of.handler.batches.flat()).toEqual(range(10));
  });

  test("does not count the submits outside the queue as waiting", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany(range(100));
    await of.clock.settle();
    expect(of.batcher.stats().waiting).toBe(1);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, completed: 100 });
  });

  test("lets no submit overtake those outside the queue", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany([0, 1, 2]);
    await of.clock.settle();
    of.handler.calls[0]?.resolve([0]);
    void of.batcher.submit(3);
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual([0, 1, 2, 3]);
  });

  test("lets a signal end a submit that waits outside", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany([0, 1]);
    const leave = new AbortController();
    const blocked = of.batcher.submit(2, { signal: leave.signal });
    const behind = of.batcher.submit(3);
    await of.clock.settle();
    leave.abort(new Error("tired"));
    expect(await reasonOf(blocked)).toEqual(new Error("tired"));
    await echoAll(of);
    expect(await behind).toBe(3);
    expect(of.handler.batches.flat()).toEqual([0, 1, 3]);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 1, completed: 3 });
  });

  test("lets a deadline end a submit that waits outside, on time", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany([0, 1]);
    const blocked = watch(of.batcher.submit(2, { timeoutMs: 30 }));
    await of.clock.advance(29);
    expect(blocked.state).toBe("pending");
    await of.clock.advance(1);
    expect(blocked).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual([0, 1]);
  });

  test("measures the latency and the wait of a blocked item from its submit", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany(range(3));
    for (const _ of range(3)) {
      await of.clock.advance(10);
      await echo(of);
    }
    expect(of.handler.calls[2]?.context.requests[0]?.waitedMs).toBe(20);
    expect(of.batcher.stats().latencyMs.max).toBe(30);
  });

  test("is full for its lanes together", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxQueueSize: 2 });
    void of.batcher.submitMany(["a1", "b1", "c1", "d1"]);
    expect(of.batcher.stats().waiting).toBe(2);
    await echoAll(of);
    expect(of.batcher.stats().completed).toBe(4);
  });
});

describe("a full queue that rejects", () => {
  test("rejects the newcomer with QUEUE_FULL, which names the limit", async () => {
    const { batcher } = rig<number>({ maxQueueSize: 3, onFull: "reject" });
    void batcher.submitMany(range(3));
    const error = await reasonOf(batcher.submit(3));
    expect(error).toMatchObject({ name: "BatchwiseError", code: "QUEUE_FULL", retryable: true });
    expect(String(error)).toMatch(/\b3\b/);
    expect(batcher.stats()).toMatchObject({ submitted: 4, rejected: 1 });
  });

  test("takes submits again as soon as a batch has left it", async () => {
    const of = rig<number>({ maxQueueSize: 2, maxBatchSize: 2, onFull: "reject" });
    void of.batcher.submitMany(range(2));
    await of.clock.settle();
    const later = of.batcher.submitMany([2, 3]);
    expect(await reasonOf(of.batcher.submit(4))).toMatchObject({ code: "QUEUE_FULL" });
    await echoAll(of);
    expect(await later).toEqual([2, 3]);
  });

  test("accepts a submit in the place of a cancelled one", async () => {
    const of = rig<number>({ maxQueueSize: 1, onFull: "reject" });
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit(0, { signal: leave.signal }));
    leave.abort(new Error("gone"));
    const instead = of.batcher.submit(1);
    await echoAll(of);
    expect(await left).toEqual(new Error("gone"));
    expect(await instead).toBe(1);
  });
});

describe("a full queue that drops", () => {
  test("drops the one that has waited longest for the newcomer", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "drop-oldest" });
    const [first, ...others] = [0, 1, 2].map((item) => of.batcher.submit(item));
    const error = await reasonOf(first as Promise<number>);
    expect(error).toMatchObject({ code: "QUEUE_FULL" });
    expect(String(error)).toMatch(/\b2\b/);
    await echoAll(of);
    expect(await Promise.all(others)).toEqual([1, 2]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, completed: 2, rejected: 1 });
  });

  test("drops the oldest whatever lane and priority it is in", async () => {
    const of = rig<string>({ maxQueueSize: 2, onFull: "drop-oldest", key: (item) => item });
    of.batcher.pause();
    const oldest = reasonOf(of.batcher.submit("a", { priority: 9 }));
    await of.clock.advance(1);
    void of.batcher.submit("b");
    await of.clock.advance(1);
    void of.batcher.submit("c", { priority: 5 });
    expect(await oldest).toMatchObject({ code: "QUEUE_FULL" });
    of.batcher.resume();
    await echoAll(of);
    expect(of.handler.batches).toEqual([["c"], ["b"]]);
  });

  test("never drops running items", async () => {
    const of = rig<number>({ maxQueueSize: 1, maxBatchSize: 1, onFull: "drop-oldest" });
    const running = of.batcher.submit(0);
    await of.clock.settle();
    const dropped = reasonOf(of.batcher.submit(1));
    const last = of.batcher.submit(2);
    expect(await dropped).toMatchObject({ code: "QUEUE_FULL" });
    await echoAll(of);
    expect([await running, await last]).toEqual([0, 2]);
  });
});

describe("ready()", () => {
  test("resolves at once while there is room", async () => {
    await rig().batcher.ready();
  });

  test("gives each place to one producer, in the order of their calls: none of them waits outside", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 2 });
    let most = 0;
    const order: number[] = [];
    const produce = async (item: number): Promise<number> => {
      await of.batcher.ready();
      order.push(item);
      const answer = of.batcher.submit(item);
      most = Math.max(most, of.batcher.stats().blocked);
      return await answer;
    };
    const all = Promise.all(range(20).map(produce));
    await of.clock.settle();
    expect(order).toEqual([0, 1, 2]); // one runs, two wait
    await echoAll(of);
    expect(await all).toEqual(range(20));
    expect([order, most]).toEqual([range(20), 0]);
    expect(of.clock.timers).toBe(0);
  });

  test("gives a place that its producer does not take to the next one", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany([0, 1]);
    await of.clock.settle();
    const asked = range(3).map(() => watch(of.batcher.ready()));
    await of.clock.settle();
    expect(asked.map(({ state }) => state)).toEqual(["pending", "pending", "pending"]);
    await echo(of);
    expect(asked.map(({ state }) => state)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
  });

  test("keeps a producer that calls `ready` before each submit within the limit", async () => {
    const of = rig<number>({ maxBatchSize: 4, maxQueueSize: 8, onFull: "reject" });
    const results: Promise<number>[] = [];
    let most = 0;
    const producer = (async () => {
      for (const item of range(100)) {
        await of.batcher.ready();
        results.push(of.batcher.submit(item));
        most = Math.max(most, of.batcher.stats().waiting);
      }
    })();
    while (results.length < 100) await echo(of);
    await producer;
    await echoAll(of);
    expect(await Promise.all(results)).toEqual(range(100));
    expect(most).toBe(8);
  });

  test("counts a place that its producer has taken once: a loop fills the whole room in one turn", async () => {
    const of = rig<number>({ maxBatchSize: 32, maxQueueSize: 32, concurrency: 2 });
    const producer = (async () => {
      for (const item of range(96)) {
        await of.batcher.ready();
        void of.batcher.submit(item);
      }
    })();
    await echoAll(of);
    await producer;
    await echoAll(of);
    expect(of.handler.batches.map(({ length }) => length)).toEqual([32, 32, 32]);
  });

  test("keeps a place from other producers while submits without it take places", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 3 });
    void of.batcher.submit(0);
    await of.clock.settle();
    const asked = range(3).map(() => watch(of.batcher.ready()));
    await of.clock.settle();
    expect(asked.map(({ state }) => state)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    void of.batcher.submitMany([1, 2, 3]);
    const late = watch(of.batcher.ready());
    await of.clock.settle();
    expect([late.state, of.batcher.stats().blocked]).toEqual(["pending", 0]);
    await echoAll(of);
    expect(late.state).toBe("fulfilled");
  });

  test("rejects with CLOSED once room can no longer come", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany([0, 1]);
    await of.clock.settle();
    const waiting = reasonOf(of.batcher.ready());
    void of.batcher.close();
    await echoAll(of);
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(await reasonOf(of.batcher.ready())).toMatchObject({ code: "CLOSED" });
  });
});
