import type { BatchOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

/** One batch runs; later submits wait in order. */
async function busy(options: BatchOptions<string, string> = {}) {
  const of = rig<string>({ dedupe: (item) => item, maxBatchSize: 1, ...options });
  void of.batcher.submit("runs");
  await of.clock.settle();
  return { ...of, order: () => of.handler.batches.flat().slice(1) };
}

describe("an urgent submit that joins a waiting equal one", () => {
  test("makes it urgent: it goes before those that were more urgent till then", async () => {
    const of = await busy();
    void of.batcher.submit("equal");
    void of.batcher.submitMany(["a", "b"], { priority: 3 });
    const joined = of.batcher.submit("equal", { priority: 5 });
    await echoAll(of);
    expect(await joined).toBe("equal");
    expect(of.order()).toEqual(["equal", "a", "b"]);
    expect(of.handler.calls[1]?.context.requests).toMatchObject([{ priority: 5 }]);
  });

  test("does so outside a full queue", async () => {
    const of = await busy({ maxQueueSize: 1 });
    void of.batcher.submit("waits");
    void of.batcher.submitMany(["a", "equal", "b"]);
    void of.batcher.submit("equal", { priority: 5 });
    await echoAll(of);
    expect(of.order()).toEqual(["waits", "equal", "a", "b"]);
  });

  test("does so while it is looked up, or its item is prepared", async () => {
    let answer = (): void => {};
    const get = (): Promise<undefined> =>
      new Promise((resolve) => {
        answer = () => resolve(undefined);
      });
    const of = rig<string>({ dedupe: (item) => item, maxBatchSize: 1, cache: { get, set: () => {} } });
    of.batcher.pause();
    void of.batcher.submit("a", { priority: 3 });
    answer();
    void of.batcher.submit("equal");
    void of.batcher.submit("equal", { priority: 5 });
    answer();
    await of.clock.settle();
    of.batcher.resume();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["equal"]]);
  });

  test("does so only in a lane of its key, and among tenants and small calls", async () => {
    const of = await busy({ key: (item) => item.slice(0, 1), fairBy: (item) => item, smallCallFirst: 1 });
    void of.batcher.submitMany(["a1", "b1", "a2", "b2"]);
    void of.batcher.submit("b2", { priority: 1 });
    await echoAll(of);
    expect(of.order()[0]).toBe("b2");
    expect([...of.order()].sort()).toEqual(["a1", "a2", "b1", "b2"]);
  });

  test("keeps its age: among those as urgent it has its place by arrival", async () => {
    const of = await busy();
    void of.batcher.submit("first", { priority: 5 });
    await of.clock.advance(1);
    void of.batcher.submit("equal");
    await of.clock.advance(1);
    void of.batcher.submit("last", { priority: 5 });
    await of.clock.advance(1);
    void of.batcher.submit("equal", { priority: 5 });
    await echoAll(of);
    expect(of.order()).toEqual(["first", "equal", "last"]);
  });

  test("keeps the time that it has waited: it ages from its submit", async () => {
    const of = await busy({ priorityAgingMs: 100 });
    void of.batcher.submit("equal");
    await of.clock.advance(250);
    void of.batcher.submit("other", { priority: 3 });
    void of.batcher.submit("equal", { priority: 2 });
    await echoAll(of);
    expect(of.order()).toEqual(["equal", "other"]);
    expect(of.handler.calls[1]?.context.requests[0]?.waitedMs).toBe(250);
  });

  test("never makes it less urgent, in either order", async () => {
    const of = await busy();
    void of.batcher.submit("equal", { priority: 5 });
    void of.batcher.submit("other", { priority: 3 });
    void of.batcher.submit("equal", { priority: 1 });
    void of.batcher.submitMany(["equal"], { priority: () => 4 });
    await echoAll(of);
    expect(of.order()).toEqual(["equal", "other"]);
  });

  test("does so from within a call, by a priority of each item", async () => {
    const of = await busy();
    void of.batcher.submitMany(range(5).map(String));
    void of.batcher.submitMany(["3", "1"], { priority: (item) => Number(item) });
    await echoAll(of);
    expect(of.order()).toEqual(["3", "1", "0", "2", "4"]);
  });

  test("keeps it urgent when the caller cancels, and it ends with its last caller", async () => {
    const of = await busy();
    const leave = new AbortController();
    const first = reasonOf(of.batcher.submit("equal", { signal: leave.signal }));
    void of.batcher.submit("other", { priority: 3 });
    const expired = watch(of.batcher.submit("equal", { priority: 5, timeoutMs: 10 }));
    await of.clock.advance(10);
    expect(expired.state).toBe("rejected");
    leave.abort(new Error("gone"));
    await first;
    expect(of.batcher.stats()).toMatchObject({ waiting: 1 });
    await echoAll(of);
    expect(of.order()).toEqual(["other"]);
  });

  test("is covered by the flush that covered the first, and counts once", async () => {
    const of = await busy();
    void of.batcher.submit("equal");
    const flushed = watch(of.batcher.flush());
    void of.batcher.submit("equal", { priority: 5 });
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, deduped: 1 });
    await echo(of);
    await echo(of);
    expect(flushed.state).toBe("fulfilled");
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, completed: 3 });
  });

  test("changes nothing of one that runs", async () => {
    const of = await busy();
    const joined = of.batcher.submit("runs", { priority: 9 });
    await echo(of);
    expect(await joined).toBe("runs");
    expect(of.handler.calls).toHaveLength(1);
  });
});

describe("a submit of a small call that joins a waiting equal one", () => {
  test("moves it before the items of larger calls", async () => {
    const of = await busy({ smallCallFirst: 1 });
    void of.batcher.submitMany(["a", "b", "equal"]);
    void of.batcher.submit("equal");
    await echoAll(of);
    expect(of.order()).toEqual(["equal", "a", "b"]);
  });

  test("does so outside a full queue, and while its item is looked up", async () => {
    const full = await busy({ smallCallFirst: 1, maxQueueSize: 1 });
    void full.batcher.submit("waits");
    void full.batcher.submitMany(["a", "equal"]);
    void full.batcher.submit("equal");
    await echoAll(full);
    expect(full.order()).toEqual(["waits", "equal", "a"]);

    const get = (): Promise<undefined> => Promise.resolve(undefined);
    const looking = await busy({ smallCallFirst: 1, cache: { get, set: () => {} } });
    void looking.batcher.submitMany(["a", "equal"]);
    void looking.batcher.submit("equal");
    await looking.clock.settle();
    await echoAll(looking);
    expect(looking.order()).toEqual(["equal", "a"]);
  });

  test("keeps a higher priority, and is the first of those with it", async () => {
    const of = await busy({ smallCallFirst: 1, priorityAgingMs: Number.POSITIVE_INFINITY });
    void of.batcher.submitMany(["a", "equal"], { priority: 3 });
    void of.batcher.submit("small");
    void of.batcher.submit("equal");
    await echoAll(of);
    expect(of.order()).toEqual(["equal", "a", "small"]);
    expect(of.handler.calls[1]?.context.requests).toMatchObject([{ priority: 3 }]);
  });

  test("leaves the place of a small call where a large one joins it", async () => {
    const of = await busy({ smallCallFirst: 1 });
    void of.batcher.submit("equal");
    void of.batcher.submitMany(["equal", "b"]);
    await echoAll(of);
    expect(of.order()).toEqual(["equal", "b"]);
  });
});
