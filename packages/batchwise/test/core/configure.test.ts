import { batchStream, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, rig, thrownBy, watch } from "../support.ts";

describe("configure()", () => {
  test("that begins to keep deadlines loses no item of a line that was empty among many", async () => {
    const of = rig<number>({ maxBatchSize: 32 });
    for (const priority of range(20)) void of.batcher.submit(priority, { priority });
    await echoAll(of);
    const plain = of.batcher.submit(-1);
    of.batcher.configure({ maxWaitMs: 5 });
    await of.clock.advance(5);
    await echoAll(of);
    expect(await plain).toBe(-1);
  });

  test("changes the limits that the next batch keeps, not those of the running one", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    void of.batcher.submitMany(range(8));
    await of.clock.settle();
    of.batcher.configure({ maxBatchSize: 5 });
    await echo(of);
    await echo(of);
    expect(of.handler.batches).toEqual([[0, 1], [2, 3, 4, 5, 6], [7]]);
  });

  test("shows the new values in `options`, frozen as before", () => {
    const { batcher } = rig();
    const before = batcher.options;
    batcher.configure({ maxBatchSize: 4, maxBatchCost: 9, maxWaitMs: 3, concurrency: 2, maxQueueSize: 5 });
    expect(batcher.options).toMatchObject({
      maxBatchSize: 4,
      maxBatchCost: 9,
      maxWaitMs: 3,
      concurrency: 2,
      maxQueueSize: 5,
    });
    expect(before.maxBatchSize).toBe(32);
    expect(Object.isFrozen(batcher.options)).toBe(true);
  });

  test("lets `preferredBatchSize` follow `maxBatchSize` while it was never set", () => {
    const { batcher } = rig();
    batcher.configure({ maxBatchSize: 8 });
    expect(batcher.options.preferredBatchSize).toBe(8);
    batcher.configure({ maxBatchSize: 64 });
    expect(batcher.options.preferredBatchSize).toBe(64);
    batcher.configure({ preferredBatchSize: 3 });
    batcher.configure({ maxBatchSize: 128 });
    expect(batcher.options.preferredBatchSize).toBe(3);
  });

  test("ignores undefined values", () => {
    const { batcher } = rig({ maxBatchSize: 4 });
    batcher.configure({ maxBatchSize: undefined, maxWaitMs: 7 });
    expect(batcher.options).toMatchObject({ maxBatchSize: 4, maxWaitMs: 7 });
    batcher.configure({});
    expect(batcher.options).toMatchObject({ maxBatchSize: 4, maxWaitMs: 7 });
  });

  test.each([
    [{ maxBatchSize: 0 }, RangeError],
    [{ maxBatchSize: "4" }, TypeError],
    [{ maxWaitMs: -1 }, RangeError],
    [{ preferredBatchSize: 33 }, RangeError],
    [{ cost: () => 1 }, TypeError],
    [{ timeoutMs: 5 }, TypeError],
    [{ targetLatencyMs: 0 }, RangeError],
    [null, TypeError],
  ])("refuses %j and changes nothing", (changes, Kind) => {
    const { batcher } = rig();
    const before = batcher.options;
    const error = thrownBy(() => batcher.configure(changes as never));
    expect(error).toBeInstanceOf(Kind);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(batcher.options).toEqual(before);
  });

  test("refuses all changes of a call of which one is wrong", () => {
    const { batcher } = rig();
    expect(() => batcher.configure({ maxBatchSize: 4, concurrency: 0 })).toThrow(RangeError);
    expect(batcher.options.maxBatchSize).toBe(32);
  });

  test("refuses a `maxBatchSize` below the `preferredBatchSize` that was set", () => {
    const { batcher } = rig({ preferredBatchSize: 8 });
    expect(() => batcher.configure({ maxBatchSize: 4 })).toThrow(RangeError);
  });

  test("starts more batches at once when `concurrency` goes up", async () => {
    const of = rig<number>({ maxBatchSize: 1 });
    void of.batcher.submitMany(range(3));
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(1);
    of.batcher.configure({ concurrency: 3 });
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(3);
  });

  test("starts no new batch when `concurrency` falls below the number of running ones", async () => {
    const of = rig<number>({ maxBatchSize: 1, concurrency: 3 });
    void of.batcher.submitMany(range(5));
    await of.clock.settle();
    of.batcher.configure({ concurrency: 1 });
    of.handler.calls[0]?.resolve([0]);
    of.handler.calls[1]?.resolve([1]);
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(3);
    of.handler.calls[2]?.resolve([2]);
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(4);
  });

  test("sends the held items when the wait becomes shorter than theirs", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 1000 });
    void batcher.submit("a");
    await clock.advance(10);
    batcher.configure({ maxWaitMs: 20 });
    await clock.advance(9);
    expect(handler.calls).toHaveLength(0);
    await clock.advance(1);
    expect(handler.calls).toHaveLength(1);
  });

  test("sends the held items when enough wait for the new `preferredBatchSize`", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 1000 });
    void batcher.submitMany(["a", "b"]);
    await clock.advance(10);
    batcher.configure({ preferredBatchSize: 2 });
    await clock.settle();
    expect(handler.batches).toEqual([["a", "b"]]);
  });

  test("lets blocked submits in when the queue may hold more", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    const last = watch(of.batcher.submitMany(range(4)));
    await of.clock.settle();
    expect(of.batcher.stats().waiting).toBe(1);
    of.batcher.configure({ maxQueueSize: 10 });
    await of.clock.settle();
    expect(of.batcher.stats().waiting).toBe(3);
    expect(last.state).toBe("pending");
  });

  test("drops no waiting item when the queue may hold less", async () => {
    const of = rig<number>({ onFull: "drop-oldest", maxQueueSize: 100 });
    of.batcher.pause();
    void of.batcher.submitSettled(range(10));
    of.batcher.configure({ maxQueueSize: 3 });
    expect(of.batcher.stats()).toMatchObject({ waiting: 10, rejected: 0 });
    void of.batcher.submit(10);
    expect(of.batcher.stats()).toMatchObject({ waiting: 10, rejected: 1 });
    of.batcher.resume();
    await echo(of);
    expect(of.handler.batches).toEqual([range(11).slice(1)]);
  });

  test("applies a lowered cost cap to items that already wait", async () => {
    const of = rig<number>({ cost: (item) => item, maxBatchCost: 100 });
    void of.batcher.submit(1);
    await of.clock.settle();
    void of.batcher.submitMany([4, 4, 4]);
    of.batcher.configure({ maxBatchCost: 8 });
    await echo(of);
    await echo(of);
    expect(of.handler.batches).toEqual([[1], [4, 4], [4]]);
  });
});

describe("with a latency target", () => {
  test("`maxBatchSize` becomes 1,024 while it was never set, and 32 again without the target", () => {
    const { batcher } = rig();
    batcher.configure({ targetLatencyMs: 100 });
    expect(batcher.options).toMatchObject({ maxBatchSize: 1_024, preferredBatchSize: 1_024 });
    batcher.configure({ concurrency: 2 });
    expect(batcher.options.maxBatchSize).toBe(1_024);
    batcher.configure({ targetLatencyMs: Infinity });
    expect(batcher.options).toMatchObject({ maxBatchSize: 32, preferredBatchSize: 32 });
    batcher.configure({ maxBatchSize: 8 });
    batcher.configure({ targetLatencyMs: 100 });
    expect(batcher.options.maxBatchSize).toBe(8);
  });

  test("a `maxBatchSize` that was given stays", () => {
    const { batcher } = rig({ maxBatchSize: 16 });
    batcher.configure({ targetLatencyMs: 100 });
    expect(batcher.options.maxBatchSize).toBe(16);
  });

  test("`prefetch` above 0 and streams refuse it", () => {
    const staged = { prepare: (items: number[]) => items, run: async (items: number[]) => items };
    const ahead = createBatcher(staged, { prefetch: 1 });
    expect(() => ahead.configure({ targetLatencyMs: 50 })).toThrow("0 when `limiter` or `targetLatencyMs` is set");
    expect(ahead.options.targetLatencyMs).toBe(Infinity);
    const stream = batchStream(async function* (): AsyncGenerator<number[]> {});
    expect(() => stream.configure({ targetLatencyMs: 50 })).toThrow("does not apply to a stream");
    expect(() => stream.configure(null as never)).toThrow("changes");
    stream.configure({ concurrency: 3 });
    expect(stream.options.concurrency).toBe(3);
  });
});
