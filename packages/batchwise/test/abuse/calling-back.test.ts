// User functions that call back into the batcher, or make callers leave, during a decision.

import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echoAll, rig } from "../support.ts";

describe("a handler that answers at once", () => {
  test("may have thousands of its items isolated", async () => {
    const batcher = createBatcher(
      (items: number[]) => {
        if (items.some((item) => item % 2 === 1)) throw new Error("poison");
        return items;
      },
      { maxBatchSize: 8_192, isolateFailures: true },
    );
    const results = await batcher.submitSettled(Array.from({ length: 8_192 }, (_, item) => item));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(4_096);
    await expect(batcher.submit(2)).resolves.toBe(2);
  });

  test("may be tried again thousands of times without a pause", async () => {
    let calls = 0;
    const batcher = createBatcher(
      (items: number[]) => {
        calls += 1;
        if (calls < 20_000) throw new Error("not yet");
        return items;
      },
      { retry: { attempts: 20_000 } },
    );
    await expect(batcher.submit(1)).resolves.toBe(1);
  });
});

describe("one signal of many callers", () => {
  test("takes them all out before the slot that it frees is used", async () => {
    const of = rig<string>({ maxBatchSize: 2, retry: { attempts: 2, backoffMs: 1_000 } });
    const { signal, abort } = stopper();
    const outcomes = [of.batcher.submit("A", { signal })];
    await of.clock.settle();
    of.handler.calls[0]?.reject(new Error("again"));
    await of.clock.settle();
    // The pause before the second call holds no slot: another batch takes it, and these wait for
    // that.
    void of.batcher.submit("slow");
    await of.clock.settle();
    outcomes.push(of.batcher.submit("B", { signal }), of.batcher.submit("C", { signal }));
    signal.addEventListener("abort", () => of.handler.calls[1]?.answer((item) => item));
    await of.clock.settle();
    abort();
    const results = await Promise.allSettled(outcomes);
    await of.clock.advance(2_000);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(of.handler.batches).toEqual([["A"], ["slow"]]);
  });

  test("takes them all out before a listener of the batch's own signal sends the rest", async () => {
    const of = rig<string>({ maxBatchSize: 1 });
    const { signal, abort } = stopper();
    const outcomes = ["A", "B", "C"].map((item) => of.batcher.submit(item, { signal }));
    await of.clock.settle();
    of.handler.calls[0]?.context.signal.addEventListener("abort", () => void of.batcher.flush());
    abort();
    await Promise.allSettled(outcomes);
    await echoAll(of);
    expect(of.handler.batches).toEqual([["A"]]);
  });

  test("takes them out of a batch that is prepared ahead, and no other of them takes its place", async () => {
    const prepared: string[][] = [];
    const { signal, abort } = stopper();
    const batcher = createBatcher(
      {
        prepare: async (items: string[]) => {
          prepared.push([...items]);
          return items;
        },
        run: (items: string[]) => new Promise<string[]>(() => items),
      },
      { maxBatchSize: 1, prefetch: 1 },
    );
    const outcomes = ["A", "B", "C"].map((item) => batcher.submit(item, { signal }));
    await new Promise(setImmediate);
    expect(prepared).toEqual([["A"], ["B"]]);
    abort();
    await Promise.allSettled(outcomes);
    await new Promise(setImmediate);
    expect(prepared).toEqual([["A"], ["B"]]);
    await batcher.close({ drain: false });
  });
});

describe("a cost function of the whole batch", () => {
  test("may abort items while it is called for them", async () => {
    const { signal, abort } = stopper();
    const of = rig<string>({
      maxBatchSize: 2,
      maxBatchCost: 100,
      batchCost: (items) => {
        if (items.length > 1 && items.includes("a")) abort();
        return items.length;
      },
    });
    const outcomes = Promise.allSettled(["a", "b"].map((item) => of.batcher.submit(item, { signal })));
    const others = ["c", "d", "e"].map((item) => of.batcher.submit(item));
    await echoAll(of);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await Promise.all(others)).toEqual(["c", "d", "e"]);
    expect(of.handler.batches).toEqual([["c", "d"], ["e"]]);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, completed: 3, cancelled: 2 });
  });

  test.each([0, 50])("may close the batcher, with a wait of %i ms", async (maxWaitMs) => {
    let closed: Promise<void> | undefined;
    const of = rig<string>({
      maxBatchSize: 4,
      maxBatchCost: 100,
      maxWaitMs,
      batchCost: (items) => {
        if (items.length > 1) closed ??= of.batcher.close({ drain: false });
        return items.length;
      },
    });
    const outcomes = Promise.allSettled(["a", "b"].map((item) => of.batcher.submit(item)));
    await of.clock.advance(100);
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await closed;
    expect(of.handler.batches).toEqual([]);
    expect(of.batcher.stats()).toMatchObject({ batches: 0, waiting: 0, running: 0 });
  });
});

describe("a handler that calls back", () => {
  test("cannot submit after it has closed the batcher", async () => {
    const outcomes: Promise<unknown>[] = [];
    const batcher = createBatcher((items: string[]) => {
      if (items.includes("go")) {
        outcomes.push(batcher.submit("before"));
        void batcher.close();
        outcomes.push(batcher.submit("after"));
      }
      return items;
    });
    await batcher.submit("go");
    const [before, after] = await Promise.allSettled(outcomes);
    expect(before).toEqual({ status: "fulfilled", value: "before" });
    expect(after).toMatchObject({ status: "rejected", reason: { code: "CLOSED" } });
    expect(batcher.stats()).toMatchObject({ completed: 2, rejected: 1 });
  });

  test("submits before and after an await join the same turn", async () => {
    const seen: string[][] = [];
    const batcher = createBatcher(
      async (items: string[]) => {
        seen.push([...items]);
        if (!items.includes("go")) return items;
        void batcher.submit("x");
        await null;
        void batcher.submit("y");
        return items;
      },
      { concurrency: 4 },
    );
    await batcher.submit("go");
    await batcher.close();
    expect(seen).toEqual([["go"], ["x", "y"]]);
  });
});

describe("functions that are called in a submit", () => {
  test("may shorten and lengthen the array that is being submitted: all of it has been read", async () => {
    const items = [1, 2, 3, 4];
    const batcher = createBatcher(async (batch: unknown[]) => batch, {
      cost: () => {
        items.length = items.length === 4 ? 2 : 8;
        return 1;
      },
    });
    await expect(batcher.submitMany(items)).resolves.toEqual([1, 2, 3, 4]);
  });

  test("may submit an equal item: it shares the place", async () => {
    let isFirst = true;
    const batches: string[][] = [];
    const inner: Promise<string>[] = [];
    const batcher = createBatcher(
      async (items: string[]) => {
        batches.push([...items]);
        return items;
      },
      {
        dedupe: (item) => item,
        cost: () => {
          if (isFirst) {
            isFirst = false;
            inner.push(batcher.submit("a"));
          }
          return 1;
        },
      },
    );
    await expect(batcher.submit("a")).resolves.toBe("a");
    await expect(inner[0]).resolves.toBe("a");
    expect(batches).toEqual([["a"]]);
    expect(batcher.stats().deduped).toBe(1);
  });

  test("fail their item, and are counted so, also with an error of another batcher", async () => {
    const other = createBatcher(async (items: string[]) => items, { maxQueueSize: 1, onFull: "reject" });
    await other.close();
    const full = await other.submit("a").catch((error: unknown) => error);
    const batcher = createBatcher(async (items: string[]) => items, {
      cost: () => {
        throw Object.assign(full as Error, { code: "QUEUE_FULL" });
      },
    });
    await expect(batcher.submit("a")).rejects.toBe(full);
    expect(batcher.stats()).toMatchObject({ failed: 1, rejected: 0 });
  });
});

describe("options of a submit", () => {
  test.each([["50"], [null], [{}]])("with a timeout of %j are a mistake", async (timeoutMs) => {
    const of = rig<string>({});
    const options = { timeoutMs: timeoutMs as unknown as number };
    await expect(of.batcher.submit("a", options)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  test.each(["priority", "timeoutMs", "cost", "key", "context", "signal"])("are read once: %s", async (name) => {
    let reads = 0;
    const options = Object.defineProperty({}, name, {
      enumerable: true,
      get: () => {
        reads += 1;
        if (reads > 1) throw new Error("read twice");
        return { priority: 1, timeoutMs: 50, cost: 1, key: "k", context: "c" }[name];
      },
    });
    const of = rig<string>({});
    const answer = of.batcher.submit("a", options);
    await echoAll(of);
    expect(await answer).toBe("a");
  });
});

test("a `retry.when` that closes the batcher leaves no timer behind", async () => {
  const of = rig<string>({
    retry: {
      attempts: 3,
      backoffMs: 1_000,
      when: () => {
        void of.batcher.close({ drain: false });
        return true;
      },
    },
  });
  const outcome = of.batcher.submit("a");
  await of.clock.settle();
  of.handler.calls[0]?.reject(new Error("no"));
  await expect(outcome).rejects.toMatchObject({ code: "CLOSED" });
  await of.clock.settle();
  expect(of.clock.timers).toBe(0);
});

function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error("stopped")) };
}
