// What users of Ray Serve's `@serve.batch` rely on, and the cases in which it surprises them. docs/coming-from.md
// points here.

import { AsyncLocalStorage } from "node:async_hooks";
import { type BatchEvent, batchStream, createBatcher, DONE } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

describe("what a handler is given", () => {
  test("an item may be an object of named arguments, of which some callers leave some out", async () => {
    const add = createBatcher(async (calls: { a: number; b?: number }[]) => calls.map(({ a, b = 10 }) => a + b));
    expect(await Promise.all([add.submit({ a: 1 }), add.submit({ a: 2, b: 3 })])).toEqual([11, 5]);
  });

  test("the handler runs in the async context in which the batcher was made, not in a caller's", async () => {
    const store = new AsyncLocalStorage<string>();
    const handler = async (items: string[]) => items.map((item) => `${item} in ${store.getStore()}`);
    const batcher = store.run("its own", () => createBatcher(handler, { maxBatchSize: 2 }));
    const answers = [
      store.run("caller a", () => batcher.submit("a")),
      store.run("caller b", () => batcher.submit("b")),
    ];
    expect(await Promise.all(answers)).toEqual(["a in its own", "b in its own"]);
  });

  test("each caller's own async context reaches the handler through `captureContext`", async () => {
    const store = new AsyncLocalStorage<string>();
    const batcher = createBatcher(
      async (items: number[], { requests }) => items.map((_, index) => requests[index]?.context),
      { captureContext: () => store.getStore() },
    );
    const answers = ["a", "b"].map((caller) => store.run(caller, () => batcher.submit(0)));
    expect(await Promise.all(answers)).toEqual(["a", "b"]);
  });

  test("making a batcher starts nothing: no timer and no call before the first submit", async () => {
    const { clock, handler } = rig({ maxWaitMs: 50, timeoutMs: 1_000 });
    await clock.settle();
    expect([clock.timers, handler.calls.length]).toEqual([0, 0]);
  });
});

describe("batches", () => {
  test("batches grow while the slot is busy, though each item's wait is over long before", async () => {
    const clock = virtualClock();
    const sizes: number[] = [];
    const takes100Ms = (items: number[]): Promise<number[]> => {
      sizes.push(items.length);
      return new Promise((resolve) => clock.setTimeout(() => resolve(items), 100));
    };
    const batcher = createBatcher(takes100Ms, { maxBatchSize: 10, maxWaitMs: 5, clock });
    const answers = range(20).map(
      (item) => new Promise((resolve) => clock.setTimeout(() => resolve(batcher.submit(item)), item * 6)),
    );
    await clock.advance(305);
    expect(await Promise.all(answers)).toEqual(range(20));
    expect(sizes).toEqual([1, 10, 9]);
  });

  test("models that take turns fill batches of their own: none goes half empty", async () => {
    const of = rig<string>({ key: (item) => item[0] as string, maxBatchSize: 4, maxWaitMs: 10 });
    const answers = ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3"].map((item) => of.batcher.submit(item));
    await echoAll(of);
    await Promise.all(answers);
    expect(of.handler.batches).toEqual([
      ["a0", "a1", "a2", "a3"],
      ["b0", "b1", "b2", "b3"],
    ]);
  });

  test("batches of all keys together keep to `concurrency`", async () => {
    const of = rig<string>({ key: (item) => item, concurrency: 2 });
    const answers = ["a", "b", "c", "d"].map((item) => of.batcher.submit(item));
    await of.clock.settle();
    expect(of.handler.open.length).toBe(2);
    await echoAll(of);
    expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d"]);
  });

  test("a batch whose callers have all gone while it waited is never run", async () => {
    const of = rig<string>();
    const first = of.batcher.submit("first");
    await of.clock.settle();
    const leave = new AbortController();
    const gone = watch(of.batcher.submitSettled(["a", "b"], { signal: leave.signal }));
    await of.clock.settle();
    leave.abort();
    await echoAll(of);
    expect(of.handler.batches).toEqual([["first"]]);
    expect([await first, gone.state]).toEqual(["first", "fulfilled"]);
  });

  test("the signal of a running batch aborts when the last of its callers has gone, not before", async () => {
    const of = rig<string>();
    const leaves = [new AbortController(), new AbortController()];
    const fates = leaves.map(({ signal }, index) => watch(of.batcher.submit(`${index}`, { signal })));
    await of.clock.settle();
    const signal = of.handler.calls[0]?.context.signal;
    leaves[0]?.abort();
    expect(signal?.aborted).toBe(false);
    leaves[1]?.abort();
    expect(signal?.aborted).toBe(true);
    await of.clock.settle();
    expect(fates.map(({ state }) => state)).toEqual(["rejected", "rejected"]);
  });
});

describe("failures", () => {
  test("the handler's error reaches every caller of the batch as it was thrown", async () => {
    const of = rig<string>();
    const answers = of.batcher.submitSettled(["a", "b"]);
    await of.clock.settle();
    const error = new Error("out of memory");
    of.handler.calls[0]?.reject(error);
    expect(await answers).toEqual([
      { status: "rejected", reason: error },
      { status: "rejected", reason: error },
    ]);
  });

  test("an Error in a place of the results rejects that caller alone", async () => {
    const of = rig<number, string>();
    const answers = of.batcher.submitSettled([1, 2, 3]);
    await of.clock.settle();
    const error = new Error("not this one");
    of.handler.calls[0]?.resolve(["one", error, "three"]);
    expect(await answers).toEqual([
      { status: "fulfilled", value: "one" },
      { status: "rejected", reason: error },
      { status: "fulfilled", value: "three" },
    ]);
  });

  test.each([
    ["too few results", [1], "Expected the handler to return 2 results, one per item, got 1."],
    ["no array", undefined, "Expected the handler to return an array of 2 results, one per item, got `undefined`."],
  ])("an answer of the wrong length is an error that says so: %s", async (_, answer, message) => {
    const batcher = createBatcher(((_items: number[]) => answer) as unknown as (items: number[]) => number[]);
    const [first, second] = await batcher.submitSettled([1, 2]);
    expect(first).toMatchObject({ reason: { code: "BATCH_RESULT", message } });
    expect(second).toEqual(first);
  });

  test.each([undefined, null, "text", new DOMException("cancelled", "AbortError")])(
    "whatever a handler throws reaches its callers, and the next batch runs: %s",
    async (thrown) => {
      const of = rig<string>();
      const failed = reasonOf(of.batcher.submit("a"));
      await of.clock.settle();
      of.handler.calls[0]?.reject(thrown);
      expect(await failed).toBe(thrown);
      const next = of.batcher.submit("b");
      await echo(of);
      expect(await next).toBe("b");
    },
  );

  test("a `batchCost` that throws costs its own item, never the ones after it", async () => {
    const batchCost = (items: readonly string[]): number => {
      if (items.includes("bad")) throw new Error("no size");
      return items.length;
    };
    const of = rig<string>({ batchCost, maxBatchCost: 4 });
    const bad = reasonOf(of.batcher.submit("bad"));
    const good = of.batcher.submitMany(["a", "b"]);
    await echoAll(of);
    expect(await bad).toEqual(new Error("no size"));
    expect(await good).toEqual(["a", "b"]);
  });

  test("close({ drain: false }) ends who waits and who runs with CLOSED", async () => {
    const of = rig<string>({ maxBatchSize: 1 });
    const answers = of.batcher.submitSettled(["runs", "waits"]);
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    const closed = { status: "rejected", reason: { code: "CLOSED" } };
    expect(await answers).toMatchObject([closed, closed]);
  });
});

describe("statistics", () => {
  test("the six metrics are in stats(), and one by one in the batch event", async () => {
    const of = rig<string>({ maxWaitMs: 10, maxBatchSize: 4, concurrency: 1 });
    const events: BatchEvent[] = [];
    of.batcher.on("batch", (event) => events.push(event));
    const answers = of.batcher.submitMany(["a", "b", "c"]);
    await of.clock.advance(10);
    const later = of.batcher.submit("d");
    await of.clock.advance(20);
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, running: 3, batches: 1 });
    await echoAll(of);
    await Promise.all([answers, later]);
    const { batches, averageBatchSize, waitMs, runMs } = of.batcher.stats();
    expect({ batches, averageBatchSize }).toEqual({ batches: 2, averageBatchSize: 2 });
    expect([waitMs.max, runMs.max]).toEqual([20, 20]);
    expect(events.map(({ size, waitMs, runMs }) => [size, waitMs, runMs])).toEqual([
      [3, 10, 20],
      [1, 20, 0],
    ]);
  });
});

describe("streams", () => {
  test("one caller's stream may end before the others'", async () => {
    const spell = batchStream(async function* (words: string[]) {
      for (let index = 0; ; index += 1) yield words.map((word) => word[index] ?? DONE);
    });
    expect(await spell.submitMany(["ab", "wxyz"])).toEqual([
      ["a", "b"],
      ["w", "x", "y", "z"],
    ]);
  });

  test("a handler that has ended ends every caller's stream", async () => {
    const greet = batchStream(async function* (names: string[]) {
      yield names.map((name) => `hello ${name}`);
    });
    expect(await greet.submitMany(["a", "b"])).toEqual([["hello a"], ["hello b"]]);
  });

  test("a reader who stops reading holds the producer one round ahead of it", async () => {
    let rounds = 0;
    const count = batchStream(async function* (items: number[]) {
      for (;;) {
        rounds += 1;
        yield items.map(() => rounds);
      }
    });
    const [slow, fast] = [count(0), count(1)];
    await slow.next();
    await fast.next();
    await fast.next();
    const third = watch(fast.next());
    await virtualClock().settle();
    expect({ rounds, third: third.state }).toEqual({ rounds: 2, third: "pending" });
    await Promise.all([slow.return?.(), fast.return?.()]);
  });
});

describe("live changes", () => {
  test("a limit that is wrong is refused at once and changes nothing", async () => {
    const batcher = createBatcher(puppetHandler<string>());
    expect(() => batcher.configure({ maxBatchSize: 0 })).toThrow("Expected `maxBatchSize` to be an integer >= 1");
    expect(batcher.options.maxBatchSize).toBe(32);
  });
});
