import { type BatchOptions, createBatcher } from "batchwise";
import { describe, expect, test, vi } from "vitest";
import { unreadable } from "../abuse/objects.ts";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("a caller whose signal aborts", () => {
  test("gets the signal's own reason, whatever that is", async () => {
    for (const reason of [new Error("mine"), "a word", 0, null]) {
      const of = rig();
      const leave = new AbortController();
      const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
      leave.abort(reason);
      expect(await left).toBe(reason);
    }
  });

  test("gets the platform's AbortError when no reason was given", async () => {
    const of = rig();
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    leave.abort();
    expect(await left).toMatchObject({ name: "AbortError" });
  });

  test("is never handed to the handler when it waits", async () => {
    const of = rig<number>();
    const leave = new AbortController();
    const results = of.batcher.submitSettled([0, 1], { signal: leave.signal });
    void of.batcher.submit(2);
    leave.abort();
    await echo(of);
    expect(of.handler.batches).toEqual([[2]]);
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, cancelled: 2, completed: 1 });
  });

  test("rejects with the error that reading the reason threw, before its submit and after", async () => {
    const of = rig();
    const target = Object.assign(new EventTarget(), { aborted: false });
    const signal = unreadable("reason", target) as AbortSignal;
    const left = reasonOf(of.batcher.submit("a", { signal }));
    target.aborted = true;
    signal.dispatchEvent(new Event("abort"));
    expect(await left).toEqual(new Error("read"));
    expect(await reasonOf(of.batcher.submit("b", { signal }))).toEqual(new Error("read"));
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, cancelled: 2, failed: 0, waiting: 0 });
  });

  test("is turned away at once when the signal has already aborted", async () => {
    const of = rig();
    const signal = AbortSignal.abort(new Error("too late"));
    expect(await reasonOf(of.batcher.submit("a", { signal }))).toEqual(new Error("too late"));
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1, waiting: 0 });
  });

  test("is free at once while its batch runs, and the others are not disturbed", async () => {
    const of = rig<string>();
    const leave = new AbortController();
    const left = watch(of.batcher.submit("a", { signal: leave.signal }));
    const stays = of.batcher.submit("b");
    await of.clock.settle();
    const signal = of.handler.calls[0]?.context.signal;
    leave.abort(new Error("gone"));
    await of.clock.settle();
    expect(left).toMatchObject({ state: "rejected", reason: new Error("gone") });
    expect(signal?.aborted).toBe(false);
    expect(of.handler.calls).toHaveLength(1);
    await echo(of);
    expect(await stays).toBe("b");
    expect(of.batcher.stats()).toMatchObject({ cancelled: 1, completed: 1, failed: 0 });
  });

  test("has no effect on one that was answered before", async () => {
    const of = rig();
    const leave = new AbortController();
    const result = of.batcher.submit("a", { signal: leave.signal });
    await echo(of);
    leave.abort();
    expect(await result).toBe("a");
    expect(of.batcher.stats()).toMatchObject({ completed: 1, cancelled: 0 });
  });

  test("makes room for others in the batch", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const leave = new AbortController();
    void of.batcher.submitSettled([0, 1], { signal: leave.signal });
    void of.batcher.submitMany([2, 3, 4]);
    leave.abort();
    await echoAll(of);
    expect(of.handler.batches).toEqual([[2, 3], [4]]);
  });
});

describe("the handler's signal", () => {
  test("aborts when the last caller of the batch has gone", async () => {
    const of = rig<string>();
    const leave = range(3).map(() => new AbortController());
    for (const { signal } of leave) of.batcher.submit("a", { signal }).catch(() => {});
    await of.clock.settle();
    const signal = of.handler.calls[0]?.context.signal;
    const states = leave.map((controller) => {
      controller.abort();
      return signal?.aborted;
    });
    expect(states).toEqual([false, false, true]);
  });

  test("counts callers whose deadline passed as gone too", async () => {
    const of = rig<string>();
    const leave = new AbortController();
    of.batcher.submit("a", { signal: leave.signal }).catch(() => {});
    of.batcher.submit("b", { timeoutMs: 10 }).catch(() => {});
    await of.clock.settle();
    const signal = of.handler.calls[0]?.context.signal;
    leave.abort();
    expect(signal?.aborted).toBe(false);
    await of.clock.advance(10);
    expect(signal?.aborted).toBe(true);
  });

  test("shows that it has aborted also to a handler that first looks afterwards", async () => {
    const of = rig<string>();
    const leave = new AbortController();
    of.batcher.submit("a", { signal: leave.signal }).catch(() => {});
    await of.clock.settle();
    leave.abort();
    expect(of.handler.calls[0]?.context.signal.aborted).toBe(true);
    expect(of.handler.calls[0]?.context.signal).toBe(of.handler.calls[0]?.context.signal);
  });

  test("does not free the slot: the batch ends when the handler does", async () => {
    const of = rig<string>();
    const leave = new AbortController();
    of.batcher.submit("a", { signal: leave.signal }).catch(() => {});
    await of.clock.settle();
    leave.abort();
    void of.batcher.submit("b");
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(1);
    of.handler.calls[0]?.reject(new Error("aborted"));
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 1, completed: 1, failed: 0 });
  });

  test("stays quiet after a batch that ended well", async () => {
    const of = rig<string>();
    void of.batcher.submit("a");
    await echoAll(of);
    const signal = of.handler.calls[0]?.context.signal;
    await of.batcher.close({ drain: false });
    expect(signal?.aborted).toBe(false);
  });
});

describe("one signal for many items", () => {
  test("carries one listener, however many they are, and none when they are done", async () => {
    const of = rig<number>({ maxBatchSize: 1_000, maxQueueSize: 20_000 });
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const results = Promise.all(range(10_000).map((item) => of.batcher.submit(item, { signal })));
    expect(added).toHaveBeenCalledTimes(1);
    await echoAll(of);
    await results;
    expect(removed).toHaveBeenCalledTimes(1);
    void of.batcher.submit(1, { signal });
    expect(added).toHaveBeenCalledTimes(2);
    await echoAll(of);
  });

  test("ends them all", async () => {
    const of = rig<number>({ maxQueueSize: 20_000 });
    const leave = new AbortController();
    const settled = of.batcher.submitSettled(range(10_000), { signal: leave.signal });
    await of.clock.settle();
    leave.abort(new Error("all of you"));
    expect((await settled).every((one) => one.status === "rejected" && one.reason.message === "all of you")).toBe(true);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 10_000, waiting: 0 });
  });
});

test("nothing is kept of a caller's signal once the batcher has answered", async () => {
  const batcher = createBatcher((items: number[]) => items);
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, "removeEventListener");
  await batcher.submit(1, { signal });
  expect(removed).toHaveBeenCalledTimes(1);
});

describe("an item whose signal has aborted is not handed over by a listener that the signal calls first", () => {
  test.each<[act: string, options: BatchOptions<number, number>]>([
    ["flush", {}],
    ["close", {}],
    ["flush", { dedupe: String }],
  ])("to %s, with %j", async (act, options) => {
    const of = rig<number>({ maxWaitMs: 1_000, ...options });
    const shutdown = new AbortController();
    shutdown.signal.addEventListener("abort", () => {
      void (act === "flush" ? of.batcher.flush() : of.batcher.close());
    });
    const signal = AbortSignal.any([shutdown.signal, new AbortController().signal]);
    const left = [shutdown.signal, signal].map((one, item) => reasonOf(of.batcher.submit(item, { signal: one })));
    const stays = of.batcher.submit(2);
    await of.clock.settle();
    shutdown.abort(new Error("down"));
    await echoAll(of);
    expect(of.handler.batches).toEqual([[2]]);
    expect(await Promise.all(left)).toEqual([new Error("down"), new Error("down")]);
    expect(await stays).toBe(2);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 2, completed: 1, waiting: 0 });
  });
});
