// `forget(dedupeKey, { key? })`: later submits get neither the stored result of a key nor one in
// flight.

import { type BatchCache, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, gate, reasonOf, rig, watch } from "../support.ts";

const byItem = (item: string): string => item;

/** A cache of promises: each look-up, write and deletion ends when the test lets it. */
function slowCache(): { cache: BatchCache<string>; stored: Map<string, string>; next: () => void; calls: string[] } {
  const stored = new Map<string, string>();
  const steps: (() => void)[] = [];
  const calls: string[] = [];
  const later = <Value>(call: string, work: () => Value): Promise<Value> => {
    calls.push(call);
    return new Promise((resolve) => void steps.push(() => resolve(work())));
  };
  const cache: BatchCache<string> = {
    get: (key) => later(`get ${key}`, () => stored.get(key)),
    set: (key, value) => void stored.set(key, value),
    delete: (key) => later(`delete ${key}`, () => stored.delete(key)),
  };
  return { cache, stored, calls, next: () => steps.shift()?.() };
}

describe("forget()", () => {
  test("removes a stored result: the next submit runs again", async () => {
    const cache = new Map([["a", "stale"]]);
    const of = rig<string>({ dedupe: byItem, cache });
    expect(await of.batcher.submit("a")).toBe("stale");
    expect(await of.batcher.forget("a")).toBeUndefined();
    expect(cache.has("a")).toBe(false);
    const fresh = of.batcher.submit("a");
    await echoAll(of);
    expect([await fresh, cache.get("a")]).toEqual(["a", "a"]);
  });

  test("while its item runs: the callers get that run's answer, nothing is stored, later submits run again", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache, concurrency: 2 });
    const [first, joined] = [of.batcher.submit("a"), of.batcher.submit("a")];
    await of.clock.settle();
    await of.batcher.forget("a");
    const later = of.batcher.submit("a");
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"], ["a"]]);
    of.handler.calls[1]?.resolve(["new"]);
    await of.clock.settle();
    expect(cache.get("a")).toBe("new");
    of.handler.calls[0]?.resolve(["old"]);
    expect(await Promise.all([first, joined, later])).toEqual(["old", "old", "new"]);
    expect(cache.get("a")).toBe("new");
  });

  test("does not move a waiting item: it has not begun, its result is stored, later submits join it", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache });
    of.batcher.pause();
    const [first, second] = [of.batcher.submit("a"), of.batcher.forget("a").then(() => of.batcher.submit("a"))];
    await of.clock.settle();
    of.batcher.resume();
    await echoAll(of);
    expect(await Promise.all([first, second])).toEqual(["a", "a"]);
    expect(of.handler.batches).toEqual([["a"]]);
    expect(cache.get("a")).toBe("a");
  });

  test("counts an item whose batch waits for the handler's `open` as running: later submits run again", async () => {
    const cache = new Map<string, string>();
    const opened = gate();
    const clock = virtualClock();
    const batches: string[][] = [];
    const run = (items: string[]): string[] => {
      batches.push(items);
      return items.map((item) => `${item} ${batches.length}`);
    };
    const batcher = createBatcher(
      { open: () => opened.promise, run },
      { clock, dedupe: byItem, cache, concurrency: 2 },
    );
    const first = batcher.submit("a");
    await clock.settle();
    expect([batcher.stats().waiting, batcher.inspect().length]).toEqual([0, 1]);
    await batcher.forget("a");
    const later = batcher.submit("a");
    opened.open();
    expect(await Promise.all([first, later])).toEqual(["a 1", "a 2"]);
    expect(batches).toEqual([["a"], ["a"]]);
    expect(cache.get("a")).toBe("a 2");
  });

  test("does not move an item that waits outside a full queue", async () => {
    const of = rig<string>({ dedupe: byItem, cache: new Map<string, string>(), maxQueueSize: 1, maxBatchSize: 1 });
    of.batcher.pause();
    const answers = of.batcher.submitMany(["first", "a"]);
    await of.batcher.forget("a");
    void of.batcher.submit("a");
    of.batcher.resume();
    await echoAll(of);
    await answers;
    expect(of.handler.batches).toEqual([["first"], ["a"]]);
  });

  test("turns a look-up in progress into a miss, and stores the result that is computed then", async () => {
    const { cache, stored, next } = slowCache();
    stored.set("a", "stale");
    const of = rig<string>({ dedupe: byItem, cache });
    const answer = of.batcher.submit("a");
    await of.clock.settle();
    const forgotten = of.batcher.forget("a");
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"]]);
    for (const _ of [1, 2]) next();
    await forgotten;
    await echo(of);
    expect([await answer, stored.get("a")]).toEqual(["a", "a"]);
  });

  test("resolves when the cache has deleted, and submits in between do not get the old result", async () => {
    const { cache, stored, next, calls } = slowCache();
    stored.set("a", "stale");
    const of = rig<string>({ dedupe: byItem, cache });
    const forgotten = watch(of.batcher.forget("a"));
    const answer = of.batcher.submit("a");
    await echo(of);
    expect([await answer, forgotten.state, calls]).toEqual(["a", "pending", ["delete a"]]);
    next();
    await of.clock.settle();
    expect(forgotten.state).toBe("fulfilled");
  });

  test("of a batch that pauses before a retry: its later result is not stored", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache, retry: { attempts: 2, backoffMs: 100 } });
    const answer = of.batcher.submit("a");
    await of.clock.settle();
    of.handler.open[0]?.reject(new Error("once"));
    await of.clock.settle();
    await of.batcher.forget("a");
    await of.clock.advance(100);
    await echo(of);
    expect([await answer, cache.size]).toEqual(["a", 0]);
  });

  test("means the item without a key, or that of the key it names, and no other", async () => {
    const cache = new Map([
      ["a", "plain"],
      ["1:x=a", "of x"],
      ["1:y=a", "of y"],
    ]);
    const of = rig<string>({ dedupe: byItem, cache });
    await of.batcher.forget("a", { key: "x" });
    expect([...cache.keys()]).toEqual(["a", "1:y=a"]);
    await of.batcher.forget("a");
    expect([...cache.keys()]).toEqual(["1:y=a"]);
    expect(await of.batcher.submit("a", { key: "y" })).toBe("of y");
  });

  test("while items of two keys run touches the one that it names", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache, concurrency: 2 });
    void of.batcher.submit("a", { key: "x" });
    void of.batcher.submit("a", { key: "y" });
    await of.clock.settle();
    await of.batcher.forget("a", { key: "x" });
    await echoAll(of);
    expect([...cache.keys()]).toEqual(["1:y=a"]);
  });

  test("without a cache separates later submits from a run that began before", async () => {
    const of = rig<string>({ dedupe: byItem, concurrency: 2 });
    const first = of.batcher.submit("a");
    await of.clock.settle();
    await of.batcher.forget("a");
    const second = of.batcher.submit("a");
    await of.clock.settle();
    of.handler.calls[0]?.resolve(["old"]);
    of.handler.calls[1]?.resolve(["new"]);
    expect(await Promise.all([first, second])).toEqual(["old", "new"]);
  });

  test("of an unknown key only calls `cache.delete`", async () => {
    const cache = new Map([["b", "stays"]]);
    const of = rig<string>({ dedupe: byItem, cache });
    await of.batcher.forget("a");
    expect([...cache]).toEqual([["b", "stays"]]);
  });

  test("twice at once does no harm", async () => {
    const cache = new Map<string, string>();
    const of = rig<string>({ dedupe: byItem, cache });
    const answer = of.batcher.submit("a");
    await of.clock.settle();
    await Promise.all([of.batcher.forget("a"), of.batcher.forget("a")]);
    await echo(of);
    expect([await answer, cache.size]).toEqual(["a", 0]);
  });
});

/** A cache whose writes end when the test lets them, in any order. */
function slowStores(): {
  cache: BatchCache<string>;
  stored: Map<string, string>;
  ends: (() => void)[];
  fail: () => void;
} {
  const stored = new Map<string, string>();
  const ends: (() => void)[] = [];
  let fail = (): void => {};
  const set = (key: string, value: string): Promise<void> =>
    new Promise((resolve, reject) => {
      ends.push(() => resolve(void stored.set(key, value)));
      fail = () => reject(new Error("no disk"));
    });
  const cache = { get: (key: string) => stored.get(key), set, delete: (key: string) => void stored.delete(key) };
  return { cache, stored, ends, fail: () => fail() };
}

describe("forget() while a result is being stored", () => {
  test("deletes after that: later submits run again", async () => {
    const { cache, stored, ends } = slowStores();
    const of = rig<string>({ dedupe: byItem, cache });
    const first = of.batcher.submit("a");
    await echo(of);
    await first;
    const forgotten = watch(of.batcher.forget("a"));
    await of.clock.settle();
    expect(forgotten.state).toBe("pending");
    ends[0]?.();
    await of.clock.settle();
    expect([forgotten.state, stored.size]).toEqual(["fulfilled", 0]);
    void of.batcher.submit("a");
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"], ["a"]]);
  });

  test("makes look-ups of that key misses until it has deleted, and of no other key", async () => {
    const { cache, stored, ends } = slowStores();
    stored.set("b", "stored");
    const of = rig<string>({ dedupe: byItem, cache });
    void of.batcher.submit("a");
    await echo(of);
    void of.batcher.forget("a");
    stored.set("a", "stale");
    void of.batcher.submit("a");
    expect(await of.batcher.submit("b")).toBe("stored");
    await of.clock.settle();
    expect(of.handler.batches).toEqual([["a"], ["a"]]);
    ends[0]?.();
    await of.clock.settle();
    expect([...stored.keys()]).toEqual(["b"]);
  });

  test("waits for no store that has failed or ended, nor for one that began later", async () => {
    const { cache, ends, fail } = slowStores();
    const of = rig<string>({ dedupe: byItem, cache });
    void of.batcher.submit("a");
    await echo(of);
    const forgotten = watch(of.batcher.forget("a"));
    void of.batcher.submit("a");
    const failFirst = fail;
    failFirst();
    await echo(of);
    expect([forgotten.state, ends.length]).toEqual(["fulfilled", 2]);
    ends[1]?.();
    await of.clock.settle();
    const again = watch(of.batcher.forget("a"));
    await of.clock.settle();
    expect(again.state).toBe("fulfilled");
  });
});

describe("forget() is rejected", () => {
  test("where the cache has no `delete`, in words that say so", async () => {
    const cache: BatchCache<string> = { get: () => undefined, set: () => {} };
    const error = await reasonOf(rig<string>({ dedupe: byItem, cache }).batcher.forget("a"));
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
    expect(String(error)).toContain("`cache.delete`");
  });

  test("where the cache has no `delete`, and changes nothing: the run stays shared, and its result is stored", async () => {
    const stored: string[] = [];
    const cache: BatchCache<string> = { get: () => undefined, set: (key) => void stored.push(key) };
    const of = rig<string>({ dedupe: byItem, cache });
    void of.batcher.submit("a");
    await of.clock.settle();
    expect(await reasonOf(of.batcher.forget("a"))).toMatchObject({ code: "INVALID_OPTION" });
    void of.batcher.submit("a");
    await echoAll(of);
    expect([of.handler.batches, stored]).toEqual([[["a"]], ["a"]]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no disk");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no disk"))],
  ])("with the reason that `cache.delete` %s", async (_, remove) => {
    const cache: BatchCache<string> = { get: () => undefined, set: () => {}, delete: remove };
    expect(await reasonOf(rig<string>({ dedupe: byItem, cache }).batcher.forget("a"))).toEqual(new Error("no disk"));
  });

  test.each([
    ["a number for the dedupe key", [5]],
    ["no dedupe key", []],
    ["a key that is no string", ["a", { key: 1 }]],
    ["options that are no object", ["a", "x"]],
    ["an option that does not exist", ["a", { lane: "x" }]],
  ])("with INVALID_OPTION for %s, and deletes nothing", async (_, args) => {
    const cache = new Map([["a", "stays"]]);
    const { batcher } = rig<string>({ dedupe: byItem, cache });
    const error = await reasonOf((batcher.forget as (...given: unknown[]) => Promise<void>)(...args));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(cache.size).toBe(1);
  });
});

test("a deletion that is under way does not outlive close(), and its look-ups are misses", async () => {
  const opening = gate();
  const cache: BatchCache<string> = { get: () => "stale", set: () => {}, delete: () => opening.promise };
  const batcher = createBatcher((items: string[]) => items, { dedupe: byItem, cache });
  const forgotten = watch(batcher.forget("a"));
  expect(await batcher.submit("a")).toBe("a");
  await batcher.close();
  expect(forgotten.state).toBe("pending");
  opening.open();
  await new Promise(setImmediate);
  expect(forgotten.state).toBe("fulfilled");
});

test("a store that never ends keeps no result: forget() deletes at once", async () => {
  const deleted: string[] = [];
  const cache: BatchCache<string> = {
    get: () => undefined,
    set: () => new Promise<void>(() => {}),
    delete: (key) => void deleted.push(key),
  };
  const batcher = createBatcher((items: string[]) => items, { dedupe: byItem, cache });
  await batcher.submit("a");
  void batcher.forget("a");
  expect(deleted).toEqual(["a"]);
  expect(await batcher.submit("a")).toBe("a");
  await batcher.close();
});
