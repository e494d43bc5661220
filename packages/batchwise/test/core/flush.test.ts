import { describe, expect, test } from "vitest";
import { echo, echoAll, range, rig, watch } from "../support.ts";

describe("flush()", () => {
  test("sends the waiting items without waiting for more", async () => {
    const of = rig<string>({ maxWaitMs: 1_000 });
    const result = watch(of.batcher.submit("a"));
    await of.clock.advance(10);
    const flushed = watch(of.batcher.flush());
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"]]);
    expect(flushed.state).toBe("pending");
    await echo(of);
    expect([flushed.state, result.state]).toEqual(["fulfilled", "fulfilled"]);
  });

  test("covers items submitted a moment before, in the same turn", async () => {
    const of = rig<string>({ maxWaitMs: 1_000 });
    void of.batcher.submitMany(["a", "b"]);
    void of.batcher.flush();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a", "b"]]);
  });

  test("resolves at once when nothing waits", async () => {
    await rig().batcher.flush();
  });

  test("does not wait for items that are submitted after it", async () => {
    const of = rig<number>({ maxBatchSize: 2, maxWaitMs: 1_000 });
    void of.batcher.submit(0);
    const flushed = watch(of.batcher.flush());
    void of.batcher.submit(1);
    await of.clock.settle();
    of.handler.calls[0]?.answer((item) => item);
    await of.clock.settle();
    expect(flushed.state).toBe("fulfilled");
    expect(of.batcher.stats()).toMatchObject({ completed: 1, waiting: 1 });
  });

  test("of one key does not wait for a more urgent lane", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxWaitMs: 1_000 });
    void of.batcher.submit("a0", { priority: 5 });
    void of.batcher.submit("b0");
    await of.clock.settle();
    void of.batcher.flush({ key: "b" });
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["b0"]]);
  });

  test("waits for all of several batches, over several keys", async () => {
    const of = rig<string>({ key: (item) => item.slice(0, 1), maxBatchSize: 2, maxWaitMs: 1_000 });
    void of.batcher.submitMany(["a1", "b1", "a2", "a3"]);
    const flushed = watch(of.batcher.flush());
    for (const size of [1, 2, 3]) {
      await of.clock.settle();
      expect(flushed.state).toBe("pending");
      expect(of.handler.calls).toHaveLength(size);
      await echo(of);
    }
    expect(flushed.state).toBe("fulfilled");
  });

  test("resolves also when its batches failed: the callers get the errors", async () => {
    const of = rig<string>();
    const result = watch(of.batcher.submit("a"));
    const flushed = of.batcher.flush();
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("broken"));
    await flushed;
    expect(result).toMatchObject({ state: "rejected", reason: new Error("broken") });
  });

  test("resolves when those it waits for have left", async () => {
    const of = rig<string>();
    of.batcher.pause();
    void of.batcher.submit("running");
    void of.batcher.flush();
    await of.clock.settle();
    const leave = new AbortController();
    of.batcher.submit("a", { signal: leave.signal }).catch(() => {});
    const flushed = watch(of.batcher.flush());
    leave.abort();
    await of.clock.settle();
    expect(flushed.state).toBe("fulfilled");
    await echoAll(of);
  });

  test("waits for a free slot like any other batch", async () => {
    const of = rig<string>();
    void of.batcher.submit("running");
    await of.clock.settle();
    void of.batcher.submit("a");
    const flushed = watch(of.batcher.flush());
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(1);
    await echoAll(of);
    expect(flushed.state).toBe("fulfilled");
  });

  test("may be called again and again: each call waits for its own", async () => {
    const of = rig<number>({ maxBatchSize: 1 });
    const flushes = range(4).map((item) => {
      void of.batcher.submit(item);
      return watch(of.batcher.flush());
    });
    for (const done of range(4)) {
      await of.clock.settle();
      expect(flushes.filter(({ state }) => state === "fulfilled")).toHaveLength(done);
      await echo(of);
    }
    expect(flushes.every(({ state }) => state === "fulfilled")).toBe(true);
  });
});

describe("pause()", () => {
  test("holds all batches back, full ones too, until resume()", async () => {
    const of = rig<number>({ maxBatchSize: 2, concurrency: 9 });
    of.batcher.pause();
    const results = of.batcher.submitMany(range(5));
    await of.clock.advance(1_000);
    expect(of.handler.calls).toHaveLength(0);
    expect(of.batcher.stats().waiting).toBe(5);
    of.batcher.resume();
    await echoAll(of);
    expect(await results).toEqual(range(5));
  });

  test("does not stop running batches", async () => {
    const of = rig<string>();
    const running = of.batcher.submit("a");
    await of.clock.settle();
    of.batcher.pause();
    const waiting = watch(of.batcher.submit("b"));
    await echo(of);
    expect(await running).toBe("a");
    expect(waiting.state).toBe("pending");
    of.batcher.resume();
    await echoAll(of);
    expect(waiting.state).toBe("fulfilled");
  });

  test("stops items submitted just before, in the same turn", async () => {
    const of = rig<string>();
    void of.batcher.submit("a");
    of.batcher.pause();
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
    of.batcher.resume();
    await echoAll(of);
  });

  test("is overridden by flush() only for the items that wait then", async () => {
    const of = rig<number>({ maxBatchSize: 4 });
    of.batcher.pause();
    void of.batcher.submitMany([0, 1]);
    const flushed = watch(of.batcher.flush());
    void of.batcher.submitMany([2, 3]);
    await echoAll(of);
    expect(flushed.state).toBe("fulfilled");
    expect(of.handler.batches).toEqual([[0, 1]]);
    expect(of.batcher.stats().waiting).toBe(2);
    of.batcher.resume();
    await echoAll(of);
    expect(of.handler.batches[1]).toEqual([2, 3]);
  });

  test("is overridden by close(): it drains", async () => {
    const of = rig<number>({ maxBatchSize: 2, maxQueueSize: 3 });
    of.batcher.pause();
    const results = of.batcher.submitMany(range(8));
    const closed = watch(of.batcher.close());
    await echoAll(of);
    expect(await results).toEqual(range(8));
    expect(closed.state).toBe("fulfilled");
  });

  test("holds no timer, and takes no harm from being called twice", async () => {
    const of = rig<string>({ maxWaitMs: 10 });
    void of.batcher.submit("a");
    of.batcher.pause();
    of.batcher.pause();
    await of.clock.advance(100);
    expect(of.clock.timers).toBe(0);
    of.batcher.resume();
    of.batcher.resume();
    await echoAll(of);
    expect(of.handler.batches).toEqual([["a"]]);
  });

  test("lets a flush send the covered items and no later ones, however urgent", async () => {
    const of = rig<string>({ maxBatchSize: 4 });
    of.batcher.pause();
    void of.batcher.submitMany(["a", "b"]);
    void of.batcher.flush();
    void of.batcher.submit("urgent", { priority: 5 });
    void of.batcher.submit("late");
    await of.clock.settle();
    await echoAll(of);
    expect(of.handler.batches).toEqual([["a", "b"]]);
    expect(of.batcher.stats().waiting).toBe(2);
    of.batcher.resume();
    await echoAll(of);
    expect(of.handler.batches[1]).toEqual(["urgent", "late"]);
  });

  test("lets a flush send the covered items and no later ones where tenants take turns", async () => {
    const of = rig<string>({ maxBatchSize: 4, fairBy: (item) => item.slice(0, 1) });
    of.batcher.pause();
    void of.batcher.submitMany(["a1", "b1", "a2"]);
    void of.batcher.flush();
    void of.batcher.submitMany(["c1", "b2", "a3"]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([["a1", "b1", "a2"]]);
    expect(of.batcher.stats().waiting).toBe(3);
    of.batcher.resume();
    await echoAll(of);
    expect([...(of.handler.batches[1] ?? [])].sort()).toEqual(["a3", "b2", "c1"]);
  });

  test("lets a flush pass over the tenant whose round it is and whose items came later", async () => {
    const of = rig<string>({ maxBatchSize: 1, fairBy: (item) => item.slice(0, 1) });
    void of.batcher.submitMany(["a1", "a2"]);
    await echoAll(of);
    of.batcher.pause();
    void of.batcher.submit("b1");
    void of.batcher.flush();
    void of.batcher.submit("a3");
    await echoAll(of);
    expect(of.handler.batches).toEqual([["a1"], ["a2"], ["b1"]]);
  });

  test("lets a flush that has to wait for a slot send no more than it covers", async () => {
    const of = rig<string>({ maxBatchSize: 4 });
    void of.batcher.submit("running");
    await of.clock.settle();
    of.batcher.pause();
    void of.batcher.submit("covered");
    void of.batcher.flush();
    void of.batcher.submit("urgent", { priority: 5 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([["running"], ["covered"]]);
    expect(of.handler.calls[1]?.context.reason).toBe("flush");
  });
});

describe("a flush from inside a submit", () => {
  test("covers items that waited before, and not the items whose cost function called it", async () => {
    let mayFlush = false;
    const flushed: { state?: string } = {};
    const of = rig<string>({
      maxBatchSize: 1,
      cost: () => {
        if (mayFlush) void of.batcher.flush().then(() => Object.assign(flushed, { state: "done" }));
        mayFlush = false;
        return 1;
      },
    });
    of.batcher.pause();
    const early = watch(of.batcher.submit("early"));
    await of.clock.settle();
    mayFlush = true;
    const late = watch(of.batcher.submit("late", { priority: 1 }));
    await echo(of);
    expect([of.handler.batches, early.state, late.state, flushed.state]).toEqual([
      [["early"]],
      "fulfilled",
      "pending",
      "done",
    ]);
    await of.batcher.close({ drain: false });
  });

  test("covers none of the items of a call whose array calls it when it is read", async () => {
    const of = rig<string>();
    of.batcher.pause();
    const early = of.batcher.submit("early");
    const items = ["a", "b"];
    Object.defineProperty(items, 0, {
      get: () => {
        void of.batcher.flush();
        return "a";
      },
    });
    const call = watch(of.batcher.submitMany(items));
    await echo(of);
    expect(await early).toBe("early");
    expect([of.handler.batches, call.state]).toEqual([[["early"]], "pending"]);
    await of.batcher.close({ drain: false });
  });
});
