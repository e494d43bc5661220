import type { BatchCache, BatchOptions } from "batchwise";
import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { thenable } from "../abuse/objects.ts";
import { echoAll, reasonOf, rig, watch } from "../support.ts";

/** Caches whose look-ups never end, by kind. */
const hanging: Readonly<Record<string, () => unknown>> = {
  "a promise": () => new Promise(() => {}),
  "a thenable": () => thenable(() => {}),
  "a promise of a promise": async () => new Promise(() => {}),
};

function hangs(options: BatchOptions<string, string> = {}, how = "a promise") {
  const sets: string[] = [];
  const cache: BatchCache<string> = {
    get: hanging[how] as () => undefined,
    set: (key) => void sets.push(key),
    delete: () => {},
  };
  return { ...rig<string>({ dedupe: (item) => item, cache, ...options }), sets };
}

describe.each(Object.keys(hanging))("a look-up that never ends, %s,", (how) => {
  test("ends at the item's deadline, of the submit or of the batcher", async () => {
    const of = hangs({ timeoutMs: 20 }, how);
    const own = watch(of.batcher.submit("a", { timeoutMs: 10 }));
    const joined = watch(of.batcher.submit("a"));
    await of.clock.advance(10);
    expect([own.state, joined.state]).toEqual(["rejected", "pending"]);
    await of.clock.advance(10);
    expect(joined).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(of.clock.timers).toBe(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, expired: 2, waiting: 0 });
  });

  test("ends with the item's signal, and then holds neither idle() nor close()", async () => {
    const of = hangs({}, how);
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    const idle = watch(of.batcher.idle());
    await of.clock.settle();
    expect(idle.state).toBe("pending");
    leave.abort(new Error("gone"));
    expect(await left).toEqual(new Error("gone"));
    await of.clock.settle();
    expect(idle.state).toBe("fulfilled");
    await of.batcher.close();
    expect(of.handler.calls).toHaveLength(0);
  });

  test("is a miss at close(), and its item runs, also when all is paused", async () => {
    const of = hangs({}, how);
    of.batcher.pause();
    const results = of.batcher.submitMany(["a", "b", "a"], { timeoutMs: 1_000 });
    const closed = watch(of.batcher.close());
    await echoAll(of);
    expect(await results).toEqual(["a", "b", "a"]);
    expect(of.handler.batches).toEqual([["a", "b"]]);
    expect(closed.state).toBe("fulfilled");
    expect(of.clock.timers).toBe(0);
  });

  test("is given up at close({ drain: false }), also when close() came before", async () => {
    const of = hangs({}, how);
    const dropped = reasonOf(of.batcher.submit("a"));
    await of.batcher.close({ drain: false });
    expect(await dropped).toMatchObject({ code: "CLOSED" });
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, rejected: 1 });

    const later = hangs({}, how);
    const running = reasonOf(later.batcher.submit("a"));
    void later.batcher.close();
    await later.clock.settle();
    await later.batcher.close({ drain: false });
    expect(await running).toMatchObject({ code: "CLOSED" });
  });

  test("is a miss when its key is forgotten, and the result of that run is stored", async () => {
    const of = hangs({}, how);
    const result = of.batcher.submit("a");
    await of.batcher.forget("a");
    await echoAll(of);
    expect(await result).toBe("a");
    expect(of.sets).toEqual(["a"]);
  });

  test("is called again by a later equal item once all its callers have gone", async () => {
    const of = hangs({}, how);
    const first = watch(of.batcher.submit("a", { timeoutMs: 5 }));
    await of.clock.advance(5);
    expect(first.state).toBe("rejected");
    const second = of.batcher.submit("a");
    void of.batcher.close();
    await echoAll(of);
    expect(await second).toBe("a");
    expect(of.batcher.stats()).toMatchObject({ deduped: 0, expired: 1, completed: 1 });
  });

  test("holds no other caller: other items go by", async () => {
    const asked: string[] = [];
    const cache = {
      get: (key: string) => {
        asked.push(key);
        return key === "slow" ? (hanging[how] as () => undefined)() : undefined;
      },
      set: () => {},
    };
    const of = rig<string>({ dedupe: (item) => item, cache, maxQueueSize: 1, onFull: "reject" });
    void of.batcher.submit("slow").catch(() => {});
    const quick = of.batcher.submit("quick");
    await echoAll(of);
    expect(await quick).toBe("quick");
    expect(of.batcher.stats()).toMatchObject({ completed: 1, waiting: 0 });
  });
});

describe("a cache that answers after all", () => {
  test("is not believed when the item has gone, runs, or was answered", async () => {
    const answers: ((value: string) => void)[] = [];
    const cache = { get: () => new Promise<string>((resolve) => answers.push(resolve)), set: () => {} };
    const of = rig<string>({ dedupe: (item) => item, cache });
    const expired = watch(of.batcher.submit("a", { timeoutMs: 5 }));
    await of.clock.advance(5);
    const run = of.batcher.submit("b");
    void of.batcher.close();
    await of.clock.settle();
    for (const answer of answers) answer("late");
    await echoAll(of);
    expect(expired.state).toBe("rejected");
    expect(await run).toBe("b");
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, expired: 1, completed: 1, cacheHits: 0 });
  });

  test("is not waited for when storing never ends", async () => {
    const cache = { get: () => undefined, set: () => new Promise(() => {}), delete: () => new Promise(() => {}) };
    const batcher = createBatcher((items: string[]) => items, { clock: virtualClock(), dedupe: String, cache });
    expect(await batcher.submit("a")).toBe("a");
    const forgotten = watch(batcher.forget("a"));
    expect(await batcher.submit("a")).toBe("a");
    await batcher.close();
    expect(forgotten.state).toBe("pending");
  });

  test("may close the batcher while it is called: the item runs", async () => {
    const of = rig<string>({
      dedupe: (item) => item,
      cache: {
        get: () => {
          void of.batcher.close();
          return "known";
        },
        set: () => {},
      },
    });
    const result = of.batcher.submit("a");
    await echoAll(of);
    expect(await result).toBe("a");
    expect(of.batcher.closed).toBe(true);
  });
});
