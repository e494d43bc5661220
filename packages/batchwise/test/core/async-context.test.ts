import { AsyncLocalStorage } from "node:async_hooks";
import { type BatchOptions, createBatcher, type HandlerFunction } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, gate, range, reasonOf, rig } from "../support.ts";

const storage = new AsyncLocalStorage<string>();
const here = (): string | undefined => storage.getStore();

describe("the async context", () => {
  test("of a handler is the one in which the batcher was made, for any caller that triggers the batch", async () => {
    const batcher = storage.run("construction", () =>
      createBatcher((items: number[]) => items.map(here), { maxBatchSize: 2 }),
    );
    const results = range(5).map((item) => storage.run(`caller ${item}`, () => batcher.submit(item)));
    expect(await Promise.all(results)).toEqual(range(5).map(() => "construction"));
    const flushed = storage.run("flusher", async () => {
      const result = batcher.submit(9);
      await batcher.flush();
      return result;
    });
    expect(await flushed).toBe("construction");
  });

  test("of every stage of a handler is that one too", async () => {
    const seen: (string | undefined)[] = [];
    const note = <Value>(value: Value): Value => {
      seen.push(here());
      return value;
    };
    const batcher = storage.run("construction", () =>
      createBatcher({
        open: () => note(undefined),
        prepare: async (items: number[]) => note(items),
        run: async (items: number[]) => note(items),
        finish: async (items: number[]) => note(items),
        close: () => note(undefined),
      }),
    );
    await storage.run("caller", () => batcher.submit(1));
    await storage.run("closer", () => batcher.close());
    expect(seen).toEqual(range(5).map(() => "construction"));
  });

  test("of a handler stays that one after an await, on a further attempt, and when a timer sends the batch", async () => {
    const seen: (string | undefined)[] = [];
    const of = rig<number>();
    const batcher = storage.run("construction", () =>
      createBatcher(
        async (items: number[]) => {
          seen.push(here());
          await null;
          seen.push(here());
          if (seen.length === 2) throw new Error("once");
          return items;
        },
        { clock: of.clock, maxWaitMs: 50, retry: { attempts: 2, backoffMs: 10 } },
      ),
    );
    const result = storage.run("caller", () => batcher.submit(1));
    await storage.run("clock", () => of.clock.advance(100));
    expect(await result).toBe(1);
    expect(seen).toEqual(range(4).map(() => "construction"));
  });

  test("of a caller continues after the answer as it was before", async () => {
    const of = rig<number>();
    const callers = range(3).map((item) =>
      storage.run(`caller ${item}`, async () => {
        await of.batcher.submit(item);
        return here();
      }),
    );
    await echo(of);
    expect(await Promise.all(callers)).toEqual(["caller 0", "caller 1", "caller 2"]);
  });

  test("of a caller is that of the functions which look at its item", async () => {
    const seen: (string | undefined)[] = [];
    const note = <Value>(value: Value): Value => {
      seen.push(here());
      return value;
    };
    const batcher = storage.run("construction", () =>
      createBatcher(
        { prepareItem: (item: number) => note(item), run: (items: number[]) => items },
        { cost: () => note(1), key: () => note("k"), dedupe: (item) => note(String(item)), fairBy: () => note("t") },
      ),
    );
    await storage.run("caller", () => batcher.submit(1));
    expect(seen).toEqual(range(5).map(() => "caller"));
  });

  test("of each caller reaches the handler through `captureContext`", async () => {
    const batcher = createBatcher((items: number[], { requests }) => items.map((_, i) => requests[i]?.context), {
      captureContext: here,
    });
    const results = range(3).map((item) => storage.run(`caller ${item}`, () => batcher.submit(item)));
    expect(await Promise.all(results)).toEqual(["caller 0", "caller 1", "caller 2"]);
    expect(await storage.run("caller", () => batcher.submit(4, { context: "given" }))).toBe("given");
    expect(await storage.run("caller", () => batcher.submit(4, { context: undefined }))).toBe("caller");
    expect(await storage.run("caller", () => batcher.submit(4, { context: null }))).toBe(null);
  });

  test("of one caller does not leak into the batch of the next", async () => {
    const first = gate();
    const seen: (string | undefined)[] = [];
    const batcher = createBatcher(async (items: number[]) => {
      seen.push(here());
      await first.promise;
      return items;
    });
    const one = storage.run("one", () => batcher.submit(1));
    await new Promise(setImmediate);
    const two = storage.run("two", () => batcher.submit(2));
    storage.run("opener", () => first.open());
    expect([await one, await two]).toEqual([1, 2]);
    expect(seen).toEqual([undefined, undefined]);
  });
});

describe("the functions that belong to no single caller", () => {
  const seen: Record<string, (string | undefined)[]> = {};
  const note = <Value>(name: string, value: Value): Value => {
    const contexts = seen[name] ?? [];
    seen[name] = contexts;
    contexts.push(here());
    return value;
  };
  const fails = async (): Promise<number[]> => {
    throw new Error("once");
  };

  /** A batcher made in its own async context, on a clock that the test advances. */
  function made(clock: VirtualClock, options: BatchOptions<number, number>, handler: HandlerFunction<number, number>) {
    for (const name of Object.keys(seen)) delete seen[name];
    const batcher = storage.run("construction", () => createBatcher(handler, { clock, ...options }));
    const listen = (name: "batch" | "item" | "warning"): void => void batcher.on(name, () => note(name, undefined));
    storage.run("listener", () => {
      for (const name of ["batch", "item", "warning"] as const) listen(name);
    });
    return batcher;
  }

  /**
   * Expects these functions to run only in the batcher's own context: this often, or at least once.
   */
  function expectOwn(...names: readonly string[]): void {
    for (const name of names) expect([name, new Set(seen[name])]).toEqual([name, new Set(["construction"])]);
  }

  test("are `batchCost`, in the submit too, `retry` and listeners, for any first caller and clock", async () => {
    const clock = virtualClock();
    let calls = 0;
    const batcher = made(
      clock,
      {
        batchCost: (items) => note("batchCost", items.length),
        maxBatchCost: 4,
        maxWaitMs: 20,
        retry: { attempts: 2, backoffMs: () => note("backoffMs", 5), when: () => note("when", true) },
      },
      (items) => {
        calls += 1;
        return calls === 1 ? fails() : items;
      },
    );
    const answers = storage.run("caller", () => batcher.submitMany([1, 2, 3]));
    expect(seen.batchCost).toEqual(["construction", "construction", "construction"]);
    await storage.run("clock", () => clock.advance(100));
    expect(await answers).toEqual([1, 2, 3]);
    expectOwn("batchCost", "backoffMs", "when", "batch", "item");
  });

  test("are those of the cache, at a look-up, at a store and at a `forget`", async () => {
    const clock = virtualClock();
    const cache = {
      get: async () => note("get", undefined),
      set: async () => note("set", undefined),
      delete: async () => note("delete", undefined),
    };
    const batcher = made(clock, { dedupe: String, cache }, (items) => items.map((item) => Promise.resolve(item)));
    expect(await storage.run("caller", () => batcher.submitMany([1, 2]))).toEqual([1, 2]);
    await storage.run("forgetter", () => batcher.forget("1"));
    expectOwn("get", "set", "delete", "item", "batch");
  });

  test("are listeners also of refusals, cancels, deadlines and of errors in a submit", async () => {
    const clock = virtualClock();
    const cache = { get: () => Promise.reject(new Error("no")), set: () => {} };
    const batcher = made(clock, { dedupe: String, cache, maxQueueSize: 1, onFull: "reject" }, (items) => items);
    batcher.pause();
    const leave = new AbortController();
    const answers = storage.run("caller", () => [
      batcher.submit(1, { signal: leave.signal }),
      batcher.submit(2, { timeoutMs: 10 }),
      batcher.submit(3, { timeoutMs: Number.NaN }),
    ]);
    const settled = Promise.allSettled(answers);
    await storage.run("clock", () => clock.advance(5));
    storage.run("aborter", () => leave.abort());
    await storage.run("clock", () => clock.advance(10));
    await storage.run("closer", () => batcher.close({ drain: false }));
    await settled;
    expect(seen.item).toHaveLength(3);
    expectOwn("item", "warning");
  });

  test("are the handler's stages also when a deadline, an abort or a flush frees their slot", async () => {
    const clock = virtualClock();
    const batcher = made(clock, { handlerTimeoutMs: 10 }, (items) =>
      note("run", items[0] === 0 ? new Promise<number[]>(() => {}) : items),
    );
    const hanging = storage.run("caller", () => reasonOf(batcher.submit(0)));
    await clock.settle();
    const next = storage.run("another", () => batcher.submit(1));
    await storage.run("clock", () => clock.advance(10));
    expect(await hanging).toMatchObject({ code: "HANDLER_TIMEOUT" });
    expect(await next).toBe(1);
    const flushed = storage.run("caller", () => batcher.submit(2));
    await storage.run("flusher", () => batcher.flush());
    await flushed;
    expect(seen.run).toHaveLength(3);
    expectOwn("run", "batch", "item");
  });

  test("are not `cost`, `key`, `dedupe`, `fairBy`, `captureContext` and `prepareItem`, also outside a full queue", async () => {
    const all: (string | undefined)[] = [];
    const mine = <Value>(value: Value): Value => {
      all.push(here());
      return value;
    };
    const of = rig<number>();
    const batcher = storage.run("construction", () =>
      createBatcher(
        { prepareItem: async (item: number) => mine(item), run: (items: number[]) => items },
        {
          clock: of.clock,
          cost: () => mine(1),
          key: () => mine("k"),
          dedupe: (item) => mine(String(item)),
          fairBy: () => mine("t"),
          captureContext: () => mine("c"),
          maxQueueSize: 1,
          maxBatchSize: 1,
        },
      ),
    );
    const answers = range(3).map((item) => storage.run("caller", () => batcher.submit(item)));
    await of.clock.settle();
    expect(await Promise.all(answers)).toEqual(range(3));
    expect(all).toEqual(range(18).map(() => "caller"));
    const costs = storage.run("caller", () =>
      batcher.submitMany([4], { cost: () => mine(1), priority: () => mine(0) }),
    );
    await of.clock.settle();
    await costs;
    expect(new Set(all)).toEqual(new Set(["caller"]));
  });
});
