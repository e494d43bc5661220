// A batch that waits before another call: it holds no slot, its items count as waiting, and it is
// never forgotten.

import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, reasonOf, rig, watch } from "../support.ts";

const retry = { attempts: 2, backoffMs: 100 } as const;

/** A rig whose first batch, of these items, has failed and waits before its second call. */
async function resting(items: string[], options: Parameters<typeof rig<string>>[0] = {}): Promise<Rig<string, string>> {
  const of = rig<string>({ retry, ...options });
  of.batcher.submitMany(items).catch(() => {});
  await of.clock.settle();
  of.handler.open[0]?.reject(new Error("once"));
  await of.clock.settle();
  return of;
}

describe("while a batch waits before another call", () => {
  test("unrelated items run in its slot: no item waits for the backoff, however long it is", async () => {
    const of = await resting(["a"], { retry: { attempts: 2, backoffMs: 30_000 }, maxBatchSize: 1 });
    const other = watch(of.batcher.submit("b"));
    await echo(of);
    expect(other).toMatchObject({ state: "fulfilled", value: "b" });
    expect(of.clock.now()).toBe(0);
    await of.clock.advance(30_000);
    await echo(of);
    expect(of.handler.batches).toEqual([["a"], ["b"], ["a"]]);
  });

  test("its items count as waiting, not as running, and it is not listed by inspect()", async () => {
    const of = await resting(["a", "b"]);
    await of.clock.advance(30);
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, running: 0, runningBatches: 0, oldestWaitMs: 30 });
    expect(of.batcher.inspect()).toEqual([]);
    await of.clock.advance(70);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 2, runningBatches: 1 });
    expect(of.batcher.inspect()).toHaveLength(1);
    await echo(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 0, completed: 2, batches: 1 });
  });

  test("the time in between is idle time of the batcher", async () => {
    const of = await resting(["a"]);
    await of.clock.advance(100);
    await of.clock.advance(50);
    await echo(of);
    expect(of.batcher.stats()).toMatchObject({ busyMs: 50, idleMs: 100 });
  });

  test("its items count towards `maxQueueSize`", async () => {
    const of = await resting(["a", "b"], { maxQueueSize: 2, onFull: "reject" });
    const refused = watch(of.batcher.submit("c"));
    await of.clock.settle();
    expect(refused.reason).toMatchObject({ code: "QUEUE_FULL" });
    await of.clock.advance(100);
    const taken = watch(of.batcher.submit("d"));
    await echoAll(of);
    expect(taken.state).toBe("fulfilled");
  });

  test('a newcomer to a queue full of its items is refused with "drop-oldest", with the reason', async () => {
    const of = await resting(["a", "b"], { maxQueueSize: 2, onFull: "drop-oldest" });
    const message = "The queue is full: 2 items are waiting for a retry (maxQueueSize).";
    expect(await reasonOf(of.batcher.submit("c"))).toMatchObject({ code: "QUEUE_FULL", retryable: true, message });
    await of.clock.advance(100);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ completed: 2, rejected: 1 });
  });

  test("a caller that cancels makes room, and ready() resolves", async () => {
    const of = rig<string>({ retry, maxQueueSize: 1 });
    const leave = new AbortController();
    of.batcher.submit("a", { signal: leave.signal }).catch(() => {});
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.settle();
    const ready = watch(of.batcher.ready());
    await of.clock.settle();
    expect(ready.state).toBe("pending");
    leave.abort();
    await of.clock.settle();
    expect(ready.state).toBe("fulfilled");
    expect(of.clock.timers).toBe(0);
  });

  test("its items come back even to a place that ready() has just given", async () => {
    const of = rig<string>({ retry, maxQueueSize: 1 });
    void of.batcher.submit("a");
    await of.clock.settle();
    const ready = watch(of.batcher.ready());
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.settle();
    const blocked = watch(of.batcher.submit("b"));
    expect([ready.state, of.batcher.stats()]).toMatchObject(["fulfilled", { waiting: 1, blocked: 1 }]);
    await of.clock.advance(100);
    await echoAll(of);
    expect(blocked.state).toBe("fulfilled");
  });

  test("blocked submits come in as soon as it runs again", async () => {
    const of = await resting(["a"], { maxQueueSize: 1, maxBatchSize: 1 });
    const blocked = watch(of.batcher.submit("b"));
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 1 });
    await of.clock.advance(100);
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 0, running: 1 });
    await echoAll(of);
    expect(blocked.state).toBe("fulfilled");
  });

  test("when it is due it takes the next free slot, before new batches", async () => {
    const of = await resting(["a"], { maxBatchSize: 1 });
    void of.batcher.submitMany(["b", "c"]);
    await of.clock.advance(150);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
    await echo(of);
    expect(of.handler.batches).toEqual([["a"], ["b"], ["a"]]);
    await echo(of);
    expect(of.handler.batches[3]).toEqual(["c"]);
    await echoAll(of);
  });

  test("flush() waits for it, and does not shorten the wait", async () => {
    const of = await resting(["a"]);
    const flushed = watch(of.batcher.flush());
    await of.clock.advance(99);
    expect([of.handler.calls.length, flushed.state]).toEqual([1, "pending"]);
    await of.clock.advance(1);
    await echo(of);
    expect(flushed.state).toBe("fulfilled");
  });

  test("flush({ key }) waits for it where the key is its own, and for none of another", async () => {
    const of = await resting(["a1"], { key: (item) => item.slice(0, 1) });
    const [own, other] = [watch(of.batcher.flush({ key: "a" })), watch(of.batcher.flush({ key: "b" }))];
    await of.clock.settle();
    expect([own.state, other.state]).toEqual(["pending", "fulfilled"]);
    await of.clock.advance(100);
    await echo(of);
    expect(own.state).toBe("fulfilled");
  });

  test("idle() and a draining close() wait for it", async () => {
    const of = await resting(["a"]);
    const [idle, closed] = [watch(of.batcher.idle()), watch(of.batcher.close())];
    await of.clock.advance(99);
    expect([idle.state, closed.state]).toEqual(["pending", "pending"]);
    await of.clock.advance(1);
    await echo(of);
    expect([idle.state, closed.state]).toEqual(["fulfilled", "fulfilled"]);
    expect(of.clock.timers).toBe(0);
  });

  test("deadlines of its items run, and the handler is not called for expired ones", async () => {
    const of = rig<string>({ retry });
    const [short, long] = [watch(of.batcher.submit("a", { timeoutMs: 50 })), watch(of.batcher.submit("b"))];
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.advance(50);
    expect(short.reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, expired: 1 });
    await of.clock.advance(50);
    await echo(of);
    expect([of.handler.batches[1], long.state]).toEqual([["b"], "fulfilled"]);
  });

  test("many batches may wait at once, and slots are never over `concurrency` when all are due", async () => {
    const of = rig<number>({ retry, maxBatchSize: 1, concurrency: 2 });
    of.batcher.submitMany(range(6)).catch(() => {});
    for (const _ of range(3)) {
      await of.clock.settle();
      for (const call of of.handler.open) call.reject(new Error("once"));
    }
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 6, running: 0 });
    expect(of.clock.timers).toBe(1);
    await of.clock.advance(100);
    expect(of.handler.open).toHaveLength(2);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ completed: 6, waiting: 0 });
  });
});

describe("`backoffMs` as a function", () => {
  test("is called with the number of calls so far and the error, before each further call", async () => {
    const asked: [number, unknown][] = [];
    const backoffMs = (attempt: number, error: unknown): number => {
      asked.push([attempt, error]);
      return attempt * 10;
    };
    const of = rig<string>({ retry: { attempts: 3, backoffMs } });
    const result = watch(of.batcher.submit("a"));
    const errors = [new Error("first"), new Error("second")];
    for (const [index, error] of errors.entries()) {
      await of.clock.settle();
      of.handler.open[0]?.reject(error);
      await of.clock.advance((index + 1) * 10);
    }
    await echo(of);
    expect(result.state).toBe("fulfilled");
    expect(asked).toEqual([
      [1, errors[0]],
      [2, errors[1]],
    ]);
    expect(of.clock.now()).toBe(30);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("backoff");
      },
    ],
    ["returns NaN", () => Number.NaN],
    ["returns -1", () => -1],
    ["returns Infinity", () => Number.POSITIVE_INFINITY],
    ["returns a promise that rejects", () => Promise.reject(new Error("backoff"))],
  ])("that %s means no pause, and a warning of code RETRY_FAILED", async (_, backoffMs) => {
    const of = rig<string>({ retry: { attempts: 2, backoffMs: backoffMs as () => number } });
    const warnings: { code: string; message: string }[] = [];
    of.batcher.on("warning", ({ code, message }) => void warnings.push({ code, message }));
    const result = watch(of.batcher.submit("a"));
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await echo(of);
    expect([result.state, warnings.map(({ code }) => code)]).toEqual(["fulfilled", ["RETRY_FAILED"]]);
    expect(warnings[0]?.message).toMatch(/^`retry.backoffMs` threw|to return a finite number >= 0, got .+: the batch/);
  });
});
