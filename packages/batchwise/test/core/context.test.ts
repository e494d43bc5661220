import { type BatchContext, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, rig } from "../support.ts";

function first(contexts: readonly BatchContext[]): BatchContext {
  const [context] = contexts;
  if (context === undefined) throw new Error("The handler was not called.");
  return context;
}

describe("the batch context", () => {
  test("names the batch, its key, its cost and the reason it was sent", async () => {
    const seen: BatchContext[] = [];
    const batcher = createBatcher(
      (items: string[], context) => {
        seen.push(context);
        return items;
      },
      { key: (item) => item.slice(0, 1), cost: (item) => item.length },
    );
    await batcher.submitMany(["a1", "a234"]);
    const context = first(seen);
    expect(context.key).toBe("a");
    expect(context.cost).toBe(6);
    expect(context.reason).toBe("idle");
    expect(context.signal).toBeInstanceOf(AbortSignal);
    expect(context.signal.aborted).toBe(false);
    expect(typeof context.id).toBe("string");
  });

  test("has no key where items have none", async () => {
    const of = rig();
    void of.batcher.submit("a");
    await of.clock.settle();
    expect(of.handler.calls[0]?.context.key).toBeUndefined();
    await echo(of);
  });

  test("has another id in each batch of each batcher", async () => {
    const ids: string[] = [];
    const handler = (items: number[], { id }: BatchContext): number[] => {
      ids.push(id);
      return items;
    };
    const [one, two] = [createBatcher(handler), createBatcher(handler)];
    for (const batcher of [one, two, one, two]) await batcher.submit(1);
    expect(new Set(ids).size).toBe(4);
  });

  test("has the name of the batcher in its id", async () => {
    const { handler, batcher, clock } = rig({ name: "vectors" });
    void batcher.submit("a");
    await clock.settle();
    expect(handler.calls[0]?.context.id).toContain("vectors");
  });

  test("lists one request an item, in order, with its context, its priority and how long it waited", async () => {
    const of = rig();
    const { batcher, clock, handler } = of;
    void batcher.submit("running");
    await clock.advance(10);
    void batcher.submit("a", { context: { user: 1 } });
    await clock.advance(5);
    void batcher.submit("b", { priority: 2 });
    await clock.advance(5);
    await echo(of);
    expect(handler.calls[1]?.items).toEqual(["b", "a"]);
    expect(handler.calls[1]?.context.requests).toEqual([
      { context: undefined, priority: 2, waitedMs: 5 },
      { context: { user: 1 }, priority: 0, waitedMs: 10 },
    ]);
  });

  test("keeps its requests in step with the items when callers cancel while the batch runs", async () => {
    const { batcher, clock, handler } = rig();
    const leave = new AbortController();
    const left = batcher.submit("a", { context: "of a", signal: leave.signal }).catch(() => "left");
    void batcher.submit("b", { context: "of b" });
    await clock.settle();
    leave.abort();
    expect(await left).toBe("left");
    expect(handler.calls[0]?.context.requests.map(({ context }) => context)).toEqual(["of a", "of b"]);
  });

  test("measures the rest of a batch of several priorities when it is called again", async () => {
    const { batcher, clock, handler } = rig<number>({ cost: (item) => item, maxBatchSize: 3, isolateFailures: true });
    void Promise.allSettled([7, 5].map((item) => batcher.submit(item, { priority: 1 })));
    void Promise.allSettled([2, 3].map((item) => batcher.submit(item)));
    await clock.settle();
    handler.calls[0]?.reject(new Error("as a whole"));
    await clock.settle();
    expect(handler.calls.map(({ items, context }) => [items, context.cost])).toEqual([
      [[7, 5, 2], 14],
      [[7], 7],
    ]);
  });

  test("measures a padded batch as its items times the largest", async () => {
    const { batcher, clock, handler } = rig<number>({ cost: (item) => item, batchCost: "padded" });
    void batcher.submitMany([1, 5, 2]);
    await clock.settle();
    expect(handler.calls[0]?.context.cost).toBe(15);
  });

  test("measures a batch by the user's own function", async () => {
    const { batcher, clock, handler } = rig<number>({ batchCost: (items) => items.length ** 2, maxBatchCost: 100 });
    void batcher.submitMany([1, 5, 2]);
    await clock.settle();
    expect(handler.calls[0]?.context.cost).toBe(9);
  });
});

describe("the reason of a batch", () => {
  test("is `size` when it is as large as it may be", async () => {
    const { batcher, clock, handler } = rig({ maxBatchSize: 2 });
    void batcher.submitMany(["a", "b", "c"]);
    await clock.settle();
    expect(handler.calls[0]?.context.reason).toBe("size");
  });

  test("is `cost` when the next item would break the cost cap", async () => {
    const { batcher, clock, handler } = rig<number>({ cost: (item) => item, maxBatchCost: 10 });
    void batcher.submitMany([4, 4, 4]);
    await clock.settle();
    expect(handler.batches).toEqual([[4, 4]]);
    expect(handler.calls[0]?.context.reason).toBe("cost");
  });

  test("is `wait` when the oldest has waited as long as it may", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 10 });
    void batcher.submit("a");
    await clock.advance(10);
    expect(handler.calls[0]?.context.reason).toBe("wait");
  });

  test("is `preferred` when enough wait", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 10, preferredBatchSize: 2 });
    void batcher.submitMany(["a", "b"]);
    await clock.settle();
    expect(handler.calls[0]?.context.reason).toBe("preferred");
  });

  test("is `deadline` when waiting longer would run into an item's deadline", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 1000 });
    void batcher.submit("a", { timeoutMs: 500 });
    await clock.advance(499);
    expect(handler.calls[0]?.context.reason).toBe("deadline");
    handler.calls[0]?.resolve(["a"]);
    await clock.settle();
    expect(batcher.stats().completed).toBe(1);
  });

  test("is `flush` when flush() sent it and `drain` when close() did", async () => {
    const clock = virtualClock();
    const reasons: string[] = [];
    const batcher = createBatcher(
      (items: string[], { reason }) => {
        reasons.push(reason);
        return items;
      },
      { clock, maxWaitMs: 1000 },
    );
    void batcher.submit("a");
    await batcher.flush();
    void batcher.submit("b");
    await batcher.close();
    expect(reasons).toEqual(["flush", "drain"]);
    expect(batcher.stats().batchesByReason).toEqual({
      size: 0,
      cost: 0,
      idle: 0,
      wait: 0,
      preferred: 0,
      deadline: 0,
      flush: 1,
      drain: 1,
    });
  });
});
