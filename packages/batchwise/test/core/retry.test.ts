import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("`retry`", () => {
  test("calls the handler again for a batch that failed as a whole, `attempts` times in total", async () => {
    const of = rig<string>({ retry: { attempts: 3 } });
    const result = of.batcher.submit("a");
    for (const attempt of [1, 2]) {
      await of.clock.settle();
      of.handler.open[0]?.reject(new Error(`failure ${attempt}`));
    }
    await echo(of);
    expect(await result).toBe("a");
    expect(of.handler.batches).toEqual([["a"], ["a"], ["a"]]);
    expect(of.batcher.stats()).toMatchObject({ batches: 1, completed: 1, failed: 0 });
  });

  test("gives callers the last error when every attempt failed", async () => {
    let calls = 0;
    const batcher = createBatcher(
      (): number[] => {
        calls += 1;
        throw new Error(`failure ${calls}`);
      },
      { retry: { attempts: 3 } },
    );
    expect(await reasonOf(batcher.submit(1))).toEqual(new Error("failure 3"));
    expect(calls).toBe(3);
  });

  test.each(["when", "backoffMs"])("does not wait where `%s` sends the last caller away", async (which) => {
    const leave = new AbortController();
    const away = <Value>(value: Value) => {
      leave.abort();
      return value;
    };
    const asks = which === "when" ? { backoffMs: 1_500, when: () => away(true) } : { backoffMs: () => away(1_500) };
    const of = rig<string>({ retry: { attempts: 2, ...asks } });
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("busy"));
    expect(await left).toBe(leave.signal.reason);
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("fulfilled");
  });

  test("waits `backoffMs` before each further call, and holds no slot meanwhile", async () => {
    const of = rig<string>({ retry: { attempts: 3, backoffMs: 100 }, maxBatchSize: 1 });
    void of.batcher.submit("a");
    void of.batcher.submit("b");
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.advance(99);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
    await echo(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, running: 0, runningBatches: 0, completed: 1 });
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([["a"], ["b"], ["a"]]);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 0, completed: 2 });
    expect(of.clock.timers).toBe(0);
  });

  test("makes room in the queue when the pause of a batch has ended and it is called again", async () => {
    const of = rig<string>({ maxQueueSize: 1, retry: { attempts: 2, backoffMs: 10 } });
    const results = ["a", "b"].map((item) => of.batcher.submit(item));
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.settle();
    void of.batcher.submit("c");
    expect(of.batcher.stats()).toMatchObject({ blocked: 1 });
    await echo(of);
    await of.clock.advance(10);
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, blocked: 0 });
    await echoAll(of);
    expect(await Promise.all(results)).toEqual(["a", "b"]);
  });

  test("holds no item past `maxWaitMs` that comes into the queue when the batch is called again", async () => {
    const clock = virtualClock();
    const batches: string[][] = [];
    const batcher = createBatcher(
      (items: string[]) => {
        batches.push(items);
        if (batches.length === 1) throw new Error("once");
        return items;
      },
      { maxWaitMs: 5, maxQueueSize: 3, concurrency: 2, retry: { attempts: 2, backoffMs: 10 }, clock },
    );
    void batcher.submitMany(["a", "b", "c"]);
    await clock.settle();
    void batcher.submit("d");
    await clock.advance(10);
    expect(batches).toEqual([["a", "b", "c"], ["a", "b", "c"], ["d"]]);
  });

  test("leaves no timer behind when the last caller's deadline passes as the pause begins", async () => {
    const of = rig<string>({ retry: { attempts: 2, backoffMs: 1_000 } });
    of.clock.setTimeout(() => of.handler.open[0]?.reject(new Error("late")), 30);
    const late = watch(of.batcher.submit("a", { timeoutMs: 30 }));
    await of.clock.advance(30);
    expect(late).toMatchObject({ state: "rejected", reason: { code: "DEADLINE_EXCEEDED" } });
    expect(of.clock.timers).toBe(0);
    expect(of.batcher.stats()).toMatchObject({ running: 0, runningBatches: 0, waiting: 0 });
  });

  test("holds no item longer than `maxWaitMs` because a batch is called again meanwhile", async () => {
    const of = rig<string>({ maxWaitMs: 20, concurrency: 2, retry: { attempts: 2, backoffMs: 10 } });
    void of.batcher.submit("a");
    await of.clock.advance(20);
    of.handler.open[0]?.reject(new Error("once"));
    void of.batcher.submit("b");
    await of.clock.advance(20);
    expect(of.handler.batches).toEqual([["a"], ["a"], ["b"]]);
    await echoAll(of);
  });

  test("does not call again after a call that exceeded `handlerTimeoutMs`, and calls no user function", async () => {
    let asked = 0;
    const when = (): boolean => {
      asked += 1;
      return true;
    };
    const of = rig<string>({ handlerTimeoutMs: 10, retry: { attempts: 3, when } });
    const result = watch(of.batcher.submit("a"));
    await of.clock.advance(10);
    expect(result).toMatchObject({ reason: { code: "HANDLER_TIMEOUT", retryable: true } });
    await of.clock.advance(10_000);
    expect([of.handler.calls.length, asked]).toEqual([1, 0]);
  });

  test("calls `when` to decide whether to retry", async () => {
    const seen: unknown[] = [];
    const batcher = createBatcher(
      (items: string[]): string[] => {
        throw new Error(items[0]);
      },
      {
        retry: {
          attempts: 2,
          when: (error) => {
            seen.push(error);
            return String(error).includes("busy");
          },
        },
      },
    );
    await reasonOf(batcher.submit("busy"));
    await reasonOf(batcher.submit("wrong"));
    expect(seen).toEqual([new Error("busy"), new Error("wrong")]);
    expect(batcher.stats().batches).toBe(2);
  });

  test("does not apply to one caller's error in its place", async () => {
    let calls = 0;
    const batcher = createBatcher(
      (items: number[]) => {
        calls += 1;
        return items.map(() => new Error("in place"));
      },
      { retry: { attempts: 5 } },
    );
    expect(await reasonOf(batcher.submit(1))).toEqual(new Error("in place"));
    expect(calls).toBe(1);
  });

  test("omits callers who cancelled in between, and stops when all have", async () => {
    const of = rig<string>({ retry: { attempts: 9, backoffMs: 10 } });
    const [one, two] = [new AbortController(), new AbortController()];
    of.batcher.submit("a", { signal: one.signal }).catch(() => {});
    of.batcher.submit("b", { signal: two.signal }).catch(() => {});
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("again"));
    await of.clock.settle();
    one.abort();
    await of.clock.advance(10);
    expect(of.handler.batches).toEqual([["a", "b"], ["b"]]);
    of.handler.open[0]?.reject(new Error("again"));
    await of.clock.settle();
    two.abort();
    await of.clock.advance(100);
    expect(of.handler.calls).toHaveLength(2);
    expect(of.clock.timers).toBe(0);
    expect(of.batcher.inspect()).toEqual([]);
  });

  test("keeps each item's deadline, which ends it once", async () => {
    const of = rig<string>({ retry: { attempts: 3, backoffMs: 40 }, isolateFailures: true });
    const settled = watch(of.batcher.submitSettled(["a", "b"], { timeoutMs: 100 }));
    for (const _ of range(3)) {
      await of.clock.settle();
      of.handler.open[0]?.reject(new Error("again"));
      await of.clock.advance(40);
    }
    expect(settled.value).toMatchObject([
      { reason: { code: "DEADLINE_EXCEEDED" } },
      { reason: { code: "DEADLINE_EXCEEDED" } },
    ]);
    of.handler.open[0]?.reject(new Error("aborted"));
    await of.clock.advance(1_000);
    expect(of.handler.open).toHaveLength(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, expired: 2, failed: 0, completed: 0, running: 0 });
    expect(of.clock.timers).toBe(0);
  });

  test("ends with close({ drain: false }) while it waits for its next attempt", async () => {
    const of = rig<string>({ retry: { attempts: 9, backoffMs: 10 } });
    const result = watch(of.batcher.submit("a"));
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("again"));
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    expect(result).toMatchObject({ reason: { code: "CLOSED" } });
    await of.clock.advance(100);
    expect(of.handler.calls).toHaveLength(1);
    expect(of.clock.timers).toBe(0);
  });
});

describe("`isolateFailures`", () => {
  function poisoned(poison: readonly number[]): { handler: (items: number[]) => number[]; calls: number[][] } {
    const calls: number[][] = [];
    return {
      calls,
      handler: (items) => {
        calls.push(items);
        if (items.some((item) => poison.includes(item))) throw new Error(`poison in ${items.length}`);
        return items;
      },
    };
  }

  test("finds the poison: the others of the batch succeed", async () => {
    const { handler, calls } = poisoned([5]);
    const batcher = createBatcher(handler, { isolateFailures: true });
    const settled = await batcher.submitSettled(range(8));
    expect(settled.map(({ status }) => status === "fulfilled")).toEqual(range(8).map((item) => item !== 5));
    expect((settled[5] as PromiseRejectedResult).reason).toEqual(new Error("poison in 1"));
    expect(calls.length).toBeLessThanOrEqual(2 * Math.log2(8) + 1);
    expect(batcher.stats()).toMatchObject({ batches: 1, completed: 7, failed: 1 });
  });

  test("calls at most twice the number of items, even when all of them are poison", async () => {
    const { handler, calls } = poisoned(range(32));
    const batcher = createBatcher(handler, { isolateFailures: true });
    const settled = await batcher.submitSettled(range(32));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(calls.length).toBe(63);
  });

  test("tries `retry` first", async () => {
    const { handler, calls } = poisoned([1]);
    const batcher = createBatcher(handler, { isolateFailures: true, retry: { attempts: 2 } });
    const settled = await batcher.submitSettled([0, 1]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(calls).toEqual([[0, 1], [0, 1], [0], [1], [1]]);
  });

  test("does not hand over an item whose caller cancels while a part is measured", async () => {
    const leave = new AbortController();
    const batches: number[][] = [];
    const batcher = createBatcher(
      (items: number[]) => {
        batches.push(items);
        if (items.includes(3)) throw new Error("poison");
        return items;
      },
      {
        isolateFailures: true,
        maxBatchCost: 100,
        batchCost: (items) => {
          if (batches.length === 1) leave.abort();
          return items.length;
        },
      },
    );
    const gone = watch(batcher.submit(0, { signal: leave.signal }));
    expect(await Promise.allSettled([1, 2, 3].map((item) => batcher.submit(item)))).toHaveLength(3);
    expect(gone.state).toBe("rejected");
    expect(batches).toEqual([[0, 1, 2, 3], [1], [2, 3], [2], [3]]);
  });

  test("keeps the context of each part in step with its items", async () => {
    const contexts: unknown[] = [];
    const batcher = createBatcher(
      (items: number[], { requests, cost }) => {
        contexts.push([items, requests.map(({ context }) => context), cost]);
        if (items.length > 1) throw new Error("too many");
        return items;
      },
      { isolateFailures: true },
    );
    await Promise.all([batcher.submit(1, { context: "of 1", cost: 3 }), batcher.submit(2, { context: "of 2" })]);
    expect(contexts).toEqual([
      [[1, 2], ["of 1", "of 2"], 4],
      [[1], ["of 1"], 3],
      [[2], ["of 2"], 1],
    ]);
  });

  test("is off by default", async () => {
    const { handler, calls } = poisoned([1]);
    const settled = await createBatcher(handler).submitSettled([0, 1]);
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(calls).toHaveLength(1);
  });
});
