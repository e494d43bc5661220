// `open()`, `idle()`, `flush({ key })` and `startedAt`: a batcher from before its first item to
// after its last.

import { type BatchEvent, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, gate, range, reasonOf, rig, thrownBy, watch } from "../support.ts";

describe("open()", () => {
  test("opens the handler before any item has come, once, and resolves when that is done", async () => {
    const log: string[] = [];
    const opening = gate();
    const batcher = createBatcher({
      open: async () => {
        log.push("opening");
        await opening.promise;
        log.push("opened");
      },
      run: (items: number[]) => {
        log.push("run");
        return items;
      },
    });
    const [first, second] = [watch(batcher.open()), watch(batcher.open())];
    await new Promise(setImmediate);
    expect([log, first.state]).toEqual([["opening"], "pending"]);
    opening.open();
    await batcher.open();
    expect([first.state, second.state]).toEqual(["fulfilled", "fulfilled"]);
    expect(await batcher.submit(1)).toBe(1);
    expect(log).toEqual(["opening", "opened", "run"]);
  });

  test("resolves with nothing, also for a handler that has none to open", async () => {
    expect(await createBatcher((items: number[]) => items).open()).toBeUndefined();
    expect(await createBatcher({ open: () => {}, run: (items: number[]) => items }).open()).toBeUndefined();
  });

  test("is waited for by the batches of items that come meanwhile", async () => {
    const opening = gate();
    let runs = 0;
    const batcher = createBatcher({
      open: () => opening.promise,
      run: (items: number[]) => {
        runs += 1;
        return items;
      },
    });
    void batcher.open();
    const answer = batcher.submit(1);
    await new Promise(setImmediate);
    expect(runs).toBe(0);
    opening.open();
    expect(await answer).toBe(1);
  });

  test("rejects with the error of the handler's `open`, and the next one tries again", async () => {
    let openings = 0;
    const batcher = createBatcher({
      open: () => {
        openings += 1;
        if (openings === 1) throw new Error("no model");
      },
      run: (items: number[]) => items,
    });
    expect(await reasonOf(batcher.open())).toEqual(new Error("no model"));
    await batcher.open();
    expect(await batcher.submit(1)).toBe(1);
    expect(openings).toBe(2);
  });

  test("counts nothing, starts no timer and delays no caller", async () => {
    const of = rig<string>({ handlerTimeoutMs: 50 });
    await of.batcher.open();
    expect(of.batcher.stats()).toMatchObject({ submitted: 0, batches: 0, utilization: 0 });
    expect(of.clock.timers).toBe(0);
  });

  test("rejects with CLOSED after close(), and close() waits for one that is under way", async () => {
    const log: string[] = [];
    const opening = gate();
    const batcher = createBatcher({
      open: () => opening.promise,
      run: (items: number[]) => items,
      close: () => void log.push("closed"),
    });
    const opened = watch(batcher.open());
    await new Promise(setImmediate);
    const closed = batcher.close();
    expect(await reasonOf(batcher.open())).toMatchObject({ code: "CLOSED" });
    opening.open();
    await closed;
    expect([opened.state, log]).toEqual(["fulfilled", ["closed"]]);
  });

  test("lets the handler's own `close` run though no batch ever came", async () => {
    const log: string[] = [];
    const run = (items: number[]): number[] => items;
    const batcher = createBatcher({ open: () => void log.push("open"), run, close: () => void log.push("close") });
    await batcher.open();
    await batcher.close();
    expect(log).toEqual(["open", "close"]);
  });
});

describe("idle()", () => {
  test("resolves at once where nothing waits or runs, also before the first submit and after close()", async () => {
    const of = rig<string>();
    await of.batcher.idle();
    void of.batcher.submit("a");
    await echoAll(of);
    await of.batcher.idle();
    await of.batcher.close();
    expect(await of.batcher.idle()).toBeUndefined();
  });

  test("waits for all items that wait, are blocked or run, and for those that come meanwhile", async () => {
    const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 1 });
    void of.batcher.submitMany(range(3));
    const idle = watch(of.batcher.idle());
    await echo(of);
    void of.batcher.submit(3);
    for (const _ of range(3)) {
      expect(idle.state).toBe("pending");
      await echo(of);
    }
    expect(idle.state).toBe("fulfilled");
    expect(of.batcher.stats()).toMatchObject({ completed: 4, waiting: 0, running: 0, blocked: 0 });
  });

  test("comes after the answers: its caller finds all callers settled, also the failed ones", async () => {
    const of = rig<string>();
    const [good, bad] = [watch(of.batcher.submit("a")), watch(of.batcher.submit("b"))];
    const seen = of.batcher.idle().then(() => [good.state, bad.state]);
    await of.clock.settle();
    of.handler.calls[0]?.resolve(["A", new Error("b")]);
    expect(await seen).toEqual(["fulfilled", "rejected"]);
  });

  test("does not send anything: a wait runs on, and a pause holds it", async () => {
    const of = rig<string>({ maxWaitMs: 100 });
    void of.batcher.submit("a");
    const idle = watch(of.batcher.idle());
    await of.clock.advance(99);
    expect([of.handler.calls.length, idle.state]).toEqual([0, "pending"]);
    of.batcher.pause();
    await of.clock.advance(1_000);
    expect(idle.state).toBe("pending");
    of.batcher.resume();
    await echoAll(of);
    expect(idle.state).toBe("fulfilled");
  });

  test.each(["signal", "deadline"])("resolves when the last waiting caller has left by %s", async (how) => {
    const of = rig<string>();
    of.batcher.pause();
    const leave = new AbortController();
    of.batcher.submit("a", how === "signal" ? { signal: leave.signal } : { timeoutMs: 10 }).catch(() => {});
    const idle = watch(of.batcher.idle());
    await of.clock.advance(9);
    expect(idle.state).toBe("pending");
    leave.abort();
    await of.clock.advance(1);
    expect(idle.state).toBe("fulfilled");
  });

  test("waits for look-ups in a cache only while a caller wants their answer", async () => {
    const answers: ((value: string | undefined) => void)[] = [];
    const get = (): Promise<string | undefined> => new Promise((resolve) => void answers.push(resolve));
    const of = rig<string>({ dedupe: (item) => item, cache: { get, set: () => {} } });
    const leave = new AbortController();
    void of.batcher.submit("a");
    of.batcher.submit("b", { signal: leave.signal }).catch(() => {});
    const idle = watch(of.batcher.idle());
    await of.clock.settle();
    answers[0]?.("stored");
    await of.clock.settle();
    expect(idle.state).toBe("pending");
    leave.abort();
    await of.clock.settle();
    expect(idle.state).toBe("fulfilled");
  });

  test("waits for batches that pause before a retry, for promises in places, and for close()", async () => {
    const of = rig<string>({ retry: { attempts: 2, backoffMs: 100 } });
    void of.batcher.submit("a");
    const idle = watch(of.batcher.idle());
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.advance(99);
    expect(idle.state).toBe("pending");
    await of.clock.advance(1);
    const place = gate();
    of.handler.open[0]?.resolve([place.promise.then(() => "A") as never]);
    await of.clock.settle();
    expect(idle.state).toBe("pending");
    place.open();
    await of.clock.settle();
    expect(idle.state).toBe("fulfilled");
  });

  test("resolves for all its callers, also when close({ drain: false }) ends it", async () => {
    const of = rig<string>();
    of.batcher.submit("a").catch(() => {});
    const [one, two] = [watch(of.batcher.idle()), watch(of.batcher.idle())];
    await of.clock.settle();
    void of.batcher.close({ drain: false });
    await of.clock.settle();
    expect([one.state, two.state]).toEqual(["fulfilled", "fulfilled"]);
  });
});

describe("flush({ key })", () => {
  const byFirst = (item: string): string => item.slice(0, 1);

  test("sends the waiting items of that lane and keeps the others waiting", async () => {
    const of = rig<string>({ key: byFirst, maxWaitMs: 1_000, concurrency: 4 });
    void of.batcher.submitMany(["a1", "b1", "a2"]);
    const flushed = watch(of.batcher.flush({ key: "a" }));
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a1", "a2"]]);
    expect(of.handler.calls[0]?.context.reason).toBe("flush");
    expect(flushed.state).toBe("pending");
    await echo(of);
    expect([flushed.state, of.batcher.stats().waiting]).toEqual(["fulfilled", 1]);
  });

  test("waits for all batches of its lane, and for no batch of another", async () => {
    const of = rig<string>({ key: byFirst, maxBatchSize: 1, concurrency: 2 });
    of.batcher.pause();
    void of.batcher.submitMany(["a1", "b1", "a2"]);
    const flushed = watch(of.batcher.flush({ key: "a" }));
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a1"], ["a2"]]);
    of.handler.calls[0]?.answer((item) => item);
    await of.clock.settle();
    expect(flushed.state).toBe("pending");
    of.handler.calls[1]?.answer((item) => item);
    await of.clock.settle();
    expect(flushed.state).toBe("fulfilled");
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, completed: 2 });
  });

  test("does not send or wait for later items of its lane", async () => {
    const of = rig<string>({ key: byFirst, maxWaitMs: 1_000 });
    void of.batcher.submit("a1");
    const flushed = watch(of.batcher.flush({ key: "a" }));
    await echo(of);
    void of.batcher.submit("a2");
    await of.clock.settle();
    expect(flushed.state).toBe("fulfilled");
    expect(of.handler.batches).toEqual([["a1"]]);
  });

  test("resolves at once where nothing waits in that lane, though others do", async () => {
    const of = rig<string>({ key: byFirst, maxWaitMs: 1_000 });
    void of.batcher.submit("b1");
    await of.batcher.flush({ key: "a" });
    await of.batcher.flush({ key: "" });
    expect(of.handler.calls).toHaveLength(0);
  });

  test("means the lane of a submit's own key too", async () => {
    const of = rig<string>({ maxWaitMs: 1_000 });
    void of.batcher.submit("x", { key: "k" });
    void of.batcher.submit("y");
    void of.batcher.flush({ key: "k" });
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["x"]]);
  });

  test.each([{}, { key: undefined }, undefined])("means every lane with %j", async (options) => {
    const of = rig<string>({ key: byFirst, maxWaitMs: 1_000, concurrency: 4 });
    void of.batcher.submitMany(["a1", "b1"]);
    void of.batcher.flush(options);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a1"], ["b1"]]);
  });

  test("resolves when the callers of the items it waits for have cancelled, and counts no other lane", async () => {
    const of = rig<string>({ key: byFirst });
    of.batcher.pause();
    void of.batcher.submit("running");
    void of.batcher.flush();
    await of.clock.settle();
    const leave = new AbortController();
    of.batcher.submit("a1", { signal: leave.signal }).catch(() => {});
    void of.batcher.submit("b1");
    const flushed = watch(of.batcher.flush({ key: "a" }));
    leave.abort();
    await of.clock.settle();
    expect(flushed.state).toBe("fulfilled");
  });

  test.each([
    ["a number for its options", 5],
    ["null for its options", null],
    ["a key that is no string", { key: 5 }],
    ["an option that does not exist", { kye: "a" }],
  ])("is rejected with INVALID_OPTION for %s, and sends nothing", async (_, options) => {
    const of = rig<string>({ key: byFirst, maxWaitMs: 1_000 });
    void of.batcher.submit("a1");
    expect(await reasonOf(of.batcher.flush(options as never))).toMatchObject({ code: "INVALID_OPTION" });
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
  });
});

describe("startedAt", () => {
  test("of a running batch and of its event is one time, in epoch milliseconds", async () => {
    const started = gate();
    const events: BatchEvent[] = [];
    const batcher = createBatcher(async (items: number[]) => {
      await started.promise;
      return items;
    });
    batcher.on("batch", (event) => void events.push(event));
    const before = Date.now();
    const answer = batcher.submit(1);
    await new Promise(setImmediate);
    const after = Date.now();
    const [running] = batcher.inspect();
    expect(running?.startedAt).toBeGreaterThan(before - 100);
    expect(running?.startedAt).toBeLessThan(after + 100);
    started.open();
    await answer;
    expect(events[0]?.startedAt).toBe(running?.startedAt);
  });

  test("is an injected clock's own now()", async () => {
    const clock = virtualClock(5_000);
    const mine = createBatcher<string, string>(() => new Promise(() => {}), { clock });
    await clock.advance(7);
    void mine.submit("a");
    await clock.advance(20);
    expect(mine.inspect()).toMatchObject([{ size: 1, startedAt: 5_007 }]);
  });
});

describe("inspect()", () => {
  test("is a frozen list of frozen entries, the earliest first, and empty at rest", async () => {
    const of = rig<string>({ maxBatchSize: 1, concurrency: 3 });
    expect(of.batcher.inspect()).toEqual([]);
    void of.batcher.submitMany(["a", "b", "c"]);
    await of.clock.settle();
    const running = of.batcher.inspect();
    expect(running.map(({ id }) => id)).toEqual(of.handler.calls.map(({ context }) => context.id));
    expect(thrownBy(() => Object.assign(running[0] ?? {}, { size: 9 }))).toBeInstanceOf(TypeError);
    await echoAll(of);
    expect(of.batcher.inspect()).toEqual([]);
    expect(running).toHaveLength(3);
  });
});
