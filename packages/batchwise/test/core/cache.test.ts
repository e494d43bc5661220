import { type BatchCache, createBatcher, type WarningEvent } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, reasonOf, rig, watch } from "../support.ts";

const byItem = (item: string): string => item;

/** A cache whose look-ups end when the test answers. */
function slowCache(): { cache: BatchCache<string>; answer: (value: string | undefined) => void; asked: string[] } {
  const asked: string[] = [];
  const waiting: ((value: string | undefined) => void)[] = [];
  return {
    asked,
    answer: (value) => waiting.shift()?.(value),
    cache: {
      get: (key) => {
        asked.push(key);
        return new Promise((resolve) => {
          waiting.push(resolve);
        });
      },
      set: () => {},
    },
  };
}

describe("a cache", () => {
  test("is read first, and gets the computed result", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache });
    const first = of.batcher.submit("a");
    await echoAll(of);
    expect(await first).toBe("a");
    expect(cache.get("a")).toBe("a");
    expect(await of.batcher.submit("a")).toBe("a");
    expect(of.handler.calls).toHaveLength(1);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, completed: 2, cacheHits: 1 });
  });

  test("answers also while every slot is busy, the queue is full, or all is paused", async () => {
    const of = rig<string>({ dedupe: byItem, cache: new Map([["known", "yes"]]), maxQueueSize: 1, onFull: "reject" });
    of.batcher.pause();
    void of.batcher.submit("other");
    expect(await of.batcher.submit("known")).toBe("yes");
  });

  test("may hold false, zero and the empty text; undefined is a miss", async () => {
    const cache = new Map<string, unknown>([
      ["false", false],
      ["zero", 0],
      ["empty", ""],
      ["undefined", undefined],
    ]);
    const of = rig<string, unknown>({ dedupe: byItem, cache });
    expect(await of.batcher.submitMany(["false", "zero", "empty"])).toEqual([false, 0, ""]);
    void of.batcher.submit("undefined");
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["undefined"]]);
  });

  test.each([
    ["at once", <Value>(value: Value) => value],
    ["later", async <Value>(value: Value) => value],
  ])("whose miss is null, as those of Redis and localStorage, gives no caller a null: %s", async (_, answer) => {
    const stored = new Map<string, string>();
    const cache = {
      get: (key: string) => answer(stored.get(key) ?? null),
      set: (key: string, value: string) => stored.set(key, value),
    };
    const of = rig<string>({ dedupe: byItem, cache });
    const first = of.batcher.submit("a");
    await echoAll(of);
    expect(await first).toBe("a");
    expect(await of.batcher.submit("a")).toBe("a");
    expect(of.handler.calls).toHaveLength(1);
  });

  test("does not get a result that is null, and the first one warns", async () => {
    const cache = new Map<string, string | null>();
    const batcher = createBatcher((items: string[]) => items.map(() => null as string | null), {
      dedupe: byItem,
      cache,
    });
    const warnings: WarningEvent[] = [];
    batcher.on("warning", (warning) => warnings.push(warning));
    expect(await batcher.submitMany(["a", "b"])).toEqual([null, null]);
    expect(await batcher.submit("a")).toBe(null);
    expect(cache.size).toBe(0);
    expect(warnings).toMatchObject([{ code: "CACHE_NULL", message: expect.stringContaining("`cache.nullIsResult`") }]);
  });

  test("with `nullIsResult` keeps null as it keeps any other result, and does not warn", async () => {
    const kept = new Map<string, string | null>();
    const cache = {
      get: (key: string) => kept.get(key),
      set: (key: string, it: string | null) => kept.set(key, it),
      nullIsResult: true,
    };
    const of = rig<string, string | null>({ dedupe: byItem, cache });
    const warnings: WarningEvent[] = [];
    of.batcher.on("warning", (warning) => warnings.push(warning));
    const first = of.batcher.submit("a");
    await of.clock.settle();
    of.handler.open[0]?.answer(() => null);
    expect(await first).toBe(null);
    expect(await of.batcher.submit("a")).toBe(null);
    expect([of.handler.calls.length, warnings]).toEqual([1, []]);
  });

  test("refuses a `nullIsResult` that is no boolean", () => {
    const cache = { get: () => undefined, set: () => {}, nullIsResult: 1 } as never;
    expect(() => createBatcher((items: string[]) => items, { dedupe: byItem, cache })).toThrow(
      "Expected `cache.nullIsResult` to be a boolean, got `1` (number)",
    );
  });

  test("does not get failures, nor a result that is undefined", async () => {
    const cache = new Map<string, unknown>();
    const batcher = createBatcher(
      (items: string[]) => items.map((item) => (item === "bad" ? new Error() : undefined)),
      {
        dedupe: byItem,
        cache: cache as Map<string, undefined>,
      },
    );
    await batcher.submitSettled(["bad", "void"]);
    expect(cache.size).toBe(0);
  });

  test("gets the value of a promise in a place, not the promise", async () => {
    const cache = new Map<string, string>();
    const batcher = createBatcher((items: string[]) => items.map(async (item) => `${item}!`), {
      dedupe: byItem,
      cache,
    });
    expect(await batcher.submit("a")).toBe("a!");
    expect(cache.get("a")).toBe("a!");
  });
});

describe("a cache that takes its time", () => {
  test("is read once for all callers of the same item", async () => {
    const { cache, answer, asked } = slowCache();
    const of = rig<string>({ dedupe: byItem, cache });
    const both = of.batcher.submitMany(["a", "a"]);
    await of.clock.settle();
    expect(asked).toEqual(["a"]);
    expect(of.handler.calls).toHaveLength(0);
    answer("stored");
    expect(await both).toEqual(["stored", "stored"]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, completed: 2, cacheHits: 2, deduped: 1 });
  });

  test("lets the item into the queue when it turns out not to know it", async () => {
    const { cache, answer } = slowCache();
    const of = rig<string>({ dedupe: byItem, cache });
    const result = of.batcher.submit("a");
    await of.clock.settle();
    answer(undefined);
    await echoAll(of);
    expect(await result).toBe("a");
  });

  test("has its items wait from the end of the look-up: not older than those that came to the queue before", async () => {
    const { cache, answer } = slowCache();
    const get = (key: string): ReturnType<typeof cache.get> => (key.endsWith("=slow") ? cache.get(key) : undefined);
    const of = rig<string>({ dedupe: byItem, cache: { ...cache, get }, key: byItem, maxWaitMs: 100, concurrency: 2 });
    void of.batcher.submit("slow");
    await of.clock.advance(30);
    void of.batcher.submit("quick");
    await of.clock.advance(30);
    answer(undefined);
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, oldestWaitMs: 30 });
    await of.clock.advance(70);
    expect(of.handler.batches).toEqual([["quick"]]);
    await of.clock.advance(30);
    expect(of.handler.batches).toEqual([["quick"], ["slow"]]);
    expect(of.handler.calls[1]?.context.requests[0]?.waitedMs).toBe(100);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ waitMs: { max: 100 }, latencyMs: { max: 160 } });
  });

  test("does not delay flush(): an item in a look-up does not wait yet", async () => {
    const { cache, answer } = slowCache();
    const of = rig<string>({ dedupe: byItem, cache, maxWaitMs: 100 });
    const result = watch(of.batcher.submit("a"));
    await of.batcher.flush();
    expect(result.state).toBe("pending");
    answer(undefined);
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
    void of.batcher.flush();
    await echoAll(of);
    expect(result).toMatchObject({ state: "fulfilled", value: "a" });
  });

  test("does not hold a caller who cancels or whose time is up", async () => {
    const { cache, answer } = slowCache();
    const of = rig<string>({ dedupe: byItem, cache });
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    const expired = watch(of.batcher.submit("b", { timeoutMs: 10 }));
    leave.abort(new Error("gone"));
    await of.clock.advance(10);
    expect(await left).toEqual(new Error("gone"));
    expect(expired).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    answer(undefined);
    answer(undefined);
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(0);
  });

  test("is waited for by close(), and not by close({ drain: false })", async () => {
    const { cache, answer } = slowCache();
    const of = rig<string>({ dedupe: byItem, cache });
    const result = of.batcher.submit("a");
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("pending");
    answer(undefined);
    await echoAll(of);
    expect(await result).toBe("a");
    expect(closed.state).toBe("fulfilled");

    const slow = slowCache();
    const other = rig<string>({ dedupe: byItem, cache: slow.cache });
    const dropped = reasonOf(other.batcher.submit("a"));
    await other.batcher.close({ drain: false });
    expect(await dropped).toMatchObject({ code: "CLOSED" });
  });
});

describe("a cache that fails", () => {
  const failure = new Error("no disk");
  const failing: Record<string, BatchCache<string>["get"]> = {
    throws: () => {
      throw failure;
    },
    rejects: () => Promise.reject(failure),
  };

  test.each(Object.keys(failing))("counts as a miss when its get %s, with a warning", async (how) => {
    const of = rig<string>({ dedupe: byItem, cache: { get: failing[how] as BatchCache<string>["get"], set() {} } });
    const warnings: unknown[] = [];
    of.batcher.on("warning", ({ cause }) => void warnings.push(cause));
    const result = of.batcher.submit("a");
    await echoAll(of);
    expect(await result).toBe("a");
    expect(warnings).toEqual([failure]);
  });

  test.each(Object.keys(failing))("costs no caller the result when its set %s, with a warning", async (how) => {
    const set = failing[how] as () => unknown;
    const of = rig<string>({ dedupe: byItem, cache: { get: () => undefined, set } });
    const warnings: unknown[] = [];
    of.batcher.on("warning", ({ cause }) => void warnings.push(cause));
    const result = of.batcher.submit("a");
    await echoAll(of);
    expect(await result).toBe("a");
    expect(warnings).toEqual([failure]);
    await echo(of);
  });
});
