import { runInNewContext } from "node:vm";
import { batch, batchStream, createBatcher, createTokenBatcher } from "batchwise";
import { batchTensors } from "batchwise/tensor";
import { describe, expect, test, vi } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("close()", () => {
  test("answers all that waits and runs, then resolves", async () => {
    const of = rig<number>({ maxBatchSize: 2, maxWaitMs: 1_000 });
    const results = of.batcher.submitMany(range(5));
    const closed = watch(of.batcher.close());
    for (const size of [1, 2, 3]) {
      await of.clock.settle();
      expect(closed.state).toBe("pending");
      expect(of.handler.calls).toHaveLength(size);
      await echo(of);
    }
    expect(await results).toEqual(range(5));
    expect(closed.state).toBe("fulfilled");
    expect(of.handler.calls[2]?.context.reason).toBe("drain");
  });

  test("answers the submits outside a full queue too", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    const results = of.batcher.submitMany(range(6));
    const closed = of.batcher.close();
    await echoAll(of);
    await closed;
    expect(await results).toEqual(range(6));
  });

  test("is always the same promise", async () => {
    const { batcher } = rig();
    const closed = batcher.close();
    expect(batcher.close()).toBe(closed);
    expect(batcher.close({ drain: false })).toBe(closed);
    expect(batcher[Symbol.asyncDispose]()).toBe(closed);
    await closed;
    expect(batcher.close()).toBe(closed);
  });

  test("resolves for a batcher that never did anything", async () => {
    await createBatcher((items: number[]) => items).close();
  });

  test("turns away every later submit with CLOSED, and counts it as rejected", async () => {
    const of = rig<number>({ dedupe: String });
    void of.batcher.submit(0);
    const closed = of.batcher.close();
    expect(of.batcher.closed).toBe(true);
    for (const late of [of.batcher.submit(1), of.batcher.submit(0), of.batcher.submitMany([2])]) {
      expect(await reasonOf(late)).toMatchObject({ name: "BatchwiseError", code: "CLOSED", retryable: false });
    }
    expect(await of.batcher.submitSettled([3])).toMatchObject([{ status: "rejected", reason: { code: "CLOSED" } }]);
    await echoAll(of);
    await closed;
    expect(of.handler.batches).toEqual([[0]]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 5, completed: 1, rejected: 4 });
  });

  test("lets deadlines and signals run on while it drains", async () => {
    const of = rig<string>();
    void of.batcher.submit("running");
    await of.clock.settle();
    const expired = watch(of.batcher.submit("a", { timeoutMs: 10 }));
    const closed = watch(of.batcher.close());
    await of.clock.advance(10);
    expect(expired).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    await echo(of);
    expect(closed.state).toBe("fulfilled");
    expect(of.handler.calls).toHaveLength(1);
  });

  test("leaves no timer behind", async () => {
    const of = rig<string>({ maxWaitMs: 1_000, timeoutMs: 5_000, handlerTimeoutMs: 9_000 });
    void of.batcher.submitMany(["a", "b"]);
    const closed = of.batcher.close();
    await echoAll(of);
    await closed;
    expect(of.clock.timers).toBe(0);
  });
});

describe("close({ drain: false })", () => {
  test("rejects at once, with CLOSED, all that wait, are blocked, or run", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    const [running, waiting, blocked] = range(3).map((item) => watch(of.batcher.submit(item)));
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    for (const fate of [running, waiting, blocked]) {
      expect(fate).toMatchObject({ state: "rejected", reason: { name: "BatchwiseError", code: "CLOSED" } });
    }
    expect(of.handler.calls).toHaveLength(1);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, rejected: 3, waiting: 0, running: 0 });
  });

  test("aborts running batches and does not wait for them, even if the handler never answers", async () => {
    const of = rig<string>();
    const result = reasonOf(of.batcher.submit("a"));
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    const signal = of.handler.calls[0]?.context.signal;
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ code: "CLOSED" });
    of.handler.calls[0]?.resolve(["late"]);
    await of.clock.settle();
    expect(await result).toMatchObject({ code: "CLOSED" });
    expect(of.batcher.stats()).toMatchObject({ completed: 0, rejected: 1 });
  });

  test("cuts a close() short that is still draining", async () => {
    const of = rig<number>({ maxBatchSize: 1 });
    const results = of.batcher.submitSettled(range(3));
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("pending");
    void of.batcher.close({ drain: false });
    await of.clock.settle();
    expect(closed.state).toBe("fulfilled");
    expect(await results).toMatchObject(range(3).map(() => ({ reason: { code: "CLOSED" } })));
    expect(of.handler.calls).toHaveLength(1);
  });

  test("cuts short the wait before a further attempt, promises in places, and batches prepared ahead", async () => {
    const of = rig<string>({ concurrency: 2, maxBatchSize: 1 });
    const results = of.batcher.submitSettled(["a", "b"]);
    await of.clock.settle();
    of.handler.calls[0]?.resolve([new Promise<string>(() => {})]);
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    expect(await results).toMatchObject([{ reason: { code: "CLOSED" } }, { reason: { code: "CLOSED" } }]);
    expect(of.batcher.inspect()).toEqual([]);
  });

  test("does nothing more once all is closed", async () => {
    const of = rig<string>();
    const result = of.batcher.submit("a");
    const closed = of.batcher.close();
    await echoAll(of);
    await closed;
    await of.batcher.close({ drain: false });
    expect(await result).toBe("a");
    expect(of.batcher.stats()).toMatchObject({ completed: 1, rejected: 0 });
  });
});

describe("a closed batcher", () => {
  test("still reports, and takes pause, resume, flush and configure without harm", async () => {
    const of = rig<string>();
    void of.batcher.submit("a");
    await echo(of);
    await of.batcher.close();
    of.batcher.pause();
    of.batcher.resume();
    await of.batcher.flush();
    of.batcher.configure({ maxBatchSize: 3 });
    await of.clock.settle();
    expect(of.batcher.stats().completed).toBe(1);
    expect(of.batcher.inspect()).toEqual([]);
    expect(of.batcher.options.maxBatchSize).toBe(3);
  });
});

describe("close() with wrong options", () => {
  const unknown = "Unknown option `drian`, did you mean `drain`?";

  test.each<[options: unknown, message: string]>([
    [{ drian: false }, unknown],
    [{ drain: false, now: true }, "Unknown option `now`. Expected one of drain"],
    [{ drain: "no" }, "Expected `drain` to be a boolean, got `no` (string)"],
    [{ drain: null }, "Expected `drain` to be a boolean, got `null`"],
  ])("rejects with INVALID_OPTION and closes nothing: %j", async (options, message) => {
    const of = rig<number>();
    const waiting = of.batcher.submit(1);
    const error = await reasonOf(of.batcher.close(options as never));
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION", message });
    expect(of.batcher.closed).toBe(false);
    const later = of.batcher.submit(2);
    await echoAll(of);
    expect(await Promise.all([waiting, later])).toEqual([1, 2]);
  });

  test("does so for each kind of batcher, and for a close() that was taken off it", async () => {
    const makers = [batch, createTokenBatcher, batchStream, batchTensors] as ((handler: unknown) => typeof batcher)[];
    const { batcher } = rig();
    for (const of of [batcher, ...makers.map((make) => make((items: unknown) => items))]) {
      expect(await reasonOf(of.close({ drian: false } as never))).toMatchObject({ message: unknown });
      expect(of.closed).toBe(false);
      await of.close({ drain: undefined });
      expect(of.closed).toBe(true);
    }
    const { close } = batch((items: number[]) => items);
    expect(await reasonOf(close({ drian: false } as never))).toMatchObject({ message: unknown });
    await close(undefined);
  });

  test.each<[given: string, argument: unknown]>([
    ["a listener of a process's signals", "SIGTERM"],
    ["a listener of the end of a process", 0],
    ["a listener of an abort", new Event("abort")],
    ["a step behind a promise", [1, 2]],
    ["the last step", null],
  ])("treats %s as no options, and closes", async (_given, argument) => {
    const fn = batch((items: number[]) => items);
    await fn.close(argument as never);
    expect(fn.closed).toBe(true);
  });

  test.each<[from: string, options: object]>([
    ["of another realm", runInNewContext("({ drain: false })")],
    [
      "of a class",
      new (class Options {
        drain = false;
      })(),
    ],
  ])("reads options %s", async (_from, options) => {
    const of = rig<number>();
    const left = reasonOf(of.batcher.submit(1));
    await of.clock.settle();
    await of.batcher.close(options);
    expect(await left).toMatchObject({ code: "CLOSED" });
  });

  test("refuses names that it does not know in an object of another realm", async () => {
    const error = await reasonOf(rig().batcher.close(runInNewContext("({ drian: false })")));
    expect(error).toMatchObject({ code: "INVALID_OPTION", message: unknown });
  });

  test("changes nothing of a close() that is under way", async () => {
    const of = rig<number>();
    const waiting = of.batcher.submit(1);
    const closed = watch(of.batcher.close());
    expect(await reasonOf(of.batcher.close({ drian: false } as never))).toMatchObject({ message: unknown });
    await echoAll(of);
    expect([await waiting, closed.state]).toEqual([1, "fulfilled"]);
  });
});

test("close({ drain: false }) ends all that waits and runs at one time, which it reads once", async () => {
  const reads = async (count: number): Promise<number> => {
    const of = rig<number>({ maxBatchSize: 4, concurrency: 2, maxQueueSize: 20 });
    const ends = range(count).map((item) => reasonOf(of.batcher.submit(item)));
    await of.clock.settle();
    const now = vi.spyOn(of.clock, "now");
    await of.batcher.close({ drain: false });
    await Promise.all(ends);
    return now.mock.calls.length;
  };
  expect(await reads(90)).toBe(await reads(9));
});
