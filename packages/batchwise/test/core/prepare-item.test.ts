// `prepareItem` that returns a promise: the item is awaited before it is queued, and counts like one that is being
// looked up in a cache.

import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { reasonOf, watch } from "../support.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(async () => {
  await new Promise(setImmediate);
  expect(unhandled.splice(0)).toEqual([]);
});

interface Subject {
  readonly clock: VirtualClock;
  readonly batcher: Batcher<string, string>;
  /** The batches that the handler got. */
  readonly batches: string[][];
  /** Items whose preparation was begun. */
  readonly begun: string[];
  /** Ends the preparation of an item, with what the handler is to get. */
  ready(item: string, prepared?: string): Promise<void>;
  fail(item: string, error: unknown): Promise<void>;
}

/** A batcher whose items are prepared when the test says so; its handler answers in capital letters. */
function subject(options: BatchOptions<string, string> = {}): Subject {
  const clock = virtualClock();
  const batches: string[][] = [];
  const begun: string[] = [];
  const steps = new Map<string, { resolve(prepared: string): void; reject(error: unknown): void }>();
  const prepareItem = (item: string): Promise<string> => {
    begun.push(item);
    return new Promise((resolve, reject) => void steps.set(item, { resolve, reject }));
  };
  const run = (items: string[]): string[] => {
    batches.push([...items]);
    return items.map((item) => item.toUpperCase());
  };
  return {
    clock,
    batches,
    begun,
    batcher: createBatcher({ prepareItem, run }, { clock, ...options }),
    ready: async (item, prepared = item) => {
      steps.get(item)?.resolve(prepared);
      await clock.settle();
    },
    fail: async (item, error) => {
      steps.get(item)?.reject(error);
      await clock.settle();
    },
  };
}

describe("an item whose `prepareItem` returned a promise", () => {
  test("is queued when the promise resolves, and the handler gets what it resolved to", async () => {
    const of = subject();
    const answer = watch(of.batcher.submit("a"));
    await of.clock.settle();
    expect([of.begun, of.batches, answer.state]).toEqual([["a"], [], "pending"]);
    await of.ready("a", "prepared");
    expect([of.batches, answer.value]).toEqual([[["prepared"]], "PREPARED"]);
  });

  test("may be a thenable that is no Promise, which is asked once", async () => {
    let asked = 0;
    const lazy = {
      // biome-ignore lint/suspicious/noThenProperty: the thenable is what is tested.
      then: (resolve: (value: string) => void) => {
        asked += 1;
        resolve("lazy");
      },
    };
    const batcher = createBatcher({
      prepareItem: (_: string) => lazy as PromiseLike<string>,
      run: (items: string[]) => items,
    });
    expect(await batcher.submit("a")).toBe("lazy");
    expect(asked).toBe(1);
  });

  test("does not wait, and does not count towards `maxQueueSize`, before it is prepared", async () => {
    const of = subject({ maxQueueSize: 1, onFull: "reject" });
    of.batcher.pause();
    const first = watch(of.batcher.submit("a"));
    const second = watch(of.batcher.submit("b"));
    await of.clock.advance(30);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, waiting: 0, blocked: 0, oldestWaitMs: 0 });
    await of.ready("a");
    expect(of.batcher.stats()).toMatchObject({ waiting: 1, oldestWaitMs: 0 });
    await of.ready("b");
    expect(second.reason).toMatchObject({ code: "QUEUE_FULL" });
    of.batcher.resume();
    await of.clock.settle();
    expect(first.value).toBe("A");
  });

  test("waits from then on: its wait counts from the end of its preparation, its latency from its submit", async () => {
    const of = subject({ maxWaitMs: 100 });
    void of.batcher.submit("a");
    await of.clock.advance(70);
    await of.ready("a");
    await of.clock.advance(99);
    expect(of.batches).toEqual([]);
    await of.clock.advance(1);
    expect(of.batches).toEqual([["a"]]);
    expect(of.batcher.stats()).toMatchObject({ waitMs: { max: 100 }, latencyMs: { max: 170 } });
  });

  test("goes in the order in which preparations end, with those that are ready", async () => {
    const of = subject({ maxWaitMs: 10 });
    const answers = of.batcher.submitMany(["slow", "a", "b"]);
    await of.ready("b");
    await of.ready("a");
    await of.clock.advance(10);
    await of.ready("slow");
    await of.clock.advance(10);
    expect(of.batches).toEqual([["b", "a"], ["slow"]]);
    expect(await answers).toEqual(["SLOW", "A", "B"]);
  });

  test("fails alone when the promise rejects, with its own reason", async () => {
    const of = subject();
    const settled = watch(of.batcher.submitSettled(["a", "b", "c"]));
    const reason = new Error("unreadable");
    await of.fail("b", reason);
    await of.ready("a");
    await of.ready("c");
    expect(settled.value).toEqual([
      { status: "fulfilled", value: "A" },
      { status: "rejected", reason },
      { status: "fulfilled", value: "C" },
    ]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1, rejected: 0 });
  });

  test("counts as failed also where another batcher refused it", async () => {
    const of = subject();
    const other = createBatcher((items: string[]) => items);
    await other.close();
    const refused = await reasonOf(other.submit("x"));
    const answer = reasonOf(of.batcher.submit("a"));
    await of.fail("a", refused);
    expect(await answer).toBe(refused);
    expect(of.batcher.stats()).toMatchObject({ failed: 1, rejected: 0 });
  });
});

describe("a caller whose item is being prepared", () => {
  test("may leave by its signal, and the item is never handed over", async () => {
    const of = subject();
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    leave.abort(new Error("gone"));
    expect(await left).toEqual(new Error("gone"));
    await of.ready("a");
    expect(of.batches).toEqual([]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, cancelled: 1 });
  });

  test("expires on time, also when the preparation never ends or fails later", async () => {
    const of = subject();
    const expired = watch(of.batcher.submit("a", { timeoutMs: 50 }));
    await of.clock.advance(50);
    expect(expired.reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(of.clock.timers).toBe(0);
    await of.fail("a", new Error("too late"));
    expect(of.batcher.stats()).toMatchObject({ submitted: 1, expired: 1, failed: 0 });
  });

  test("has its deadline from the submit on, before and after the preparation", async () => {
    const of = subject({ timeoutMs: 100 });
    of.batcher.pause();
    const expired = watch(of.batcher.submit("a"));
    await of.clock.advance(60);
    await of.ready("a");
    await of.clock.advance(39);
    expect(expired.state).toBe("pending");
    await of.clock.advance(1);
    expect(expired.reason).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("who has left holds neither idle() nor close(), though the preparation never ends", async () => {
    const of = subject();
    const leave = new AbortController();
    of.batcher.submit("never", { signal: leave.signal }).catch(() => {});
    of.batcher.submit("never either", { timeoutMs: 10 }).catch(() => {});
    const idle = watch(of.batcher.idle());
    await of.clock.settle();
    expect(idle.state).toBe("pending");
    leave.abort();
    await of.clock.advance(10);
    expect(idle.state).toBe("fulfilled");
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("fulfilled");
  });
});

describe("a batcher with items in preparation", () => {
  test("is not idle, and a flush does not cover them", async () => {
    const of = subject({ maxWaitMs: 1_000 });
    const answer = watch(of.batcher.submit("a"));
    const idle = watch(of.batcher.idle());
    await of.batcher.flush();
    expect([answer.state, idle.state]).toEqual(["pending", "pending"]);
    await of.ready("a");
    void of.batcher.flush();
    await of.clock.settle();
    expect([answer.state, idle.state]).toEqual(["fulfilled", "fulfilled"]);
  });

  test("waits for them in close(), and answers them", async () => {
    const of = subject({ maxWaitMs: 1_000 });
    const settled = watch(of.batcher.submitSettled(["a", "b"]));
    const closed = watch(of.batcher.close());
    await of.clock.settle();
    expect(closed.state).toBe("pending");
    await of.ready("a");
    expect([of.batches, closed.state]).toEqual([[["a"]], "pending"]);
    await of.fail("b", new Error("unreadable"));
    expect(settled.value).toMatchObject([{ value: "A" }, { reason: new Error("unreadable") }]);
    expect(closed.state).toBe("fulfilled");
  });

  test.each(["ready", "fail"] as const)(
    "rejects them with CLOSED at once in close({ drain: false }), then %s",
    async (how) => {
      const of = subject();
      const answer = reasonOf(of.batcher.submit("a"));
      await of.batcher.close({ drain: false });
      expect(await answer).toMatchObject({ code: "CLOSED" });
      if (how === "ready") await of.ready("a");
      else await of.fail("a", new Error("too late"));
      expect(of.batches).toEqual([]);
      expect(of.batcher.stats()).toMatchObject({ submitted: 1, rejected: 1, failed: 0 });
    },
  );

  test("rejects them also when close({ drain: false }) comes after close()", async () => {
    const of = subject();
    const answer = reasonOf(of.batcher.submit("a"));
    const closed = of.batcher.close();
    await of.clock.settle();
    void of.batcher.close({ drain: false });
    expect(await answer).toMatchObject({ code: "CLOSED" });
    await closed;
  });
});

describe("with `dedupe`, an item in preparation", () => {
  test("is prepared once for all equal callers, who may leave one by one", async () => {
    const of = subject({ dedupe: (item) => item });
    const leave = new AbortController();
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    const stays = watch(of.batcher.submit("a"));
    leave.abort(new Error("gone"));
    expect(await left).toEqual(new Error("gone"));
    await of.ready("a");
    expect([of.begun, stays.value]).toEqual([["a"], "A"]);
    expect(of.batcher.stats()).toMatchObject({ submitted: 2, deduped: 1, completed: 1, cancelled: 1 });
  });

  test("becomes as urgent as the most urgent who joins it", async () => {
    const of = subject({ dedupe: (item) => item, maxBatchSize: 1 });
    of.batcher.pause();
    void of.batcher.submitMany(["first", "a"]);
    void of.batcher.submit("a", { priority: 5 });
    await of.ready("first");
    await of.ready("a");
    of.batcher.resume();
    await of.clock.settle();
    expect(of.batches).toEqual([["a"], ["first"]]);
  });

  test("fails all equal callers when its promise rejects, and the next one starts anew", async () => {
    const of = subject({ dedupe: (item) => item });
    const settled = watch(of.batcher.submitSettled(["a", "a"]));
    await of.fail("a", new Error("unreadable"));
    expect(settled.value).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
    const again = watch(of.batcher.submit("a"));
    await of.ready("a");
    expect([again.value, of.begun]).toEqual(["A", ["a", "a"]]);
  });

  test("stays where it is under forget(): it has not begun to run", async () => {
    const cache = new Map<string, string>();
    const of = subject({ dedupe: (item) => item, cache });
    const first = watch(of.batcher.submit("a"));
    await of.batcher.forget("a");
    const second = watch(of.batcher.submit("a"));
    await of.ready("a");
    expect([first.value, second.value, of.batches]).toEqual(["A", "A", [["a"]]]);
    expect(cache.get("a")).toBe("A");
  });

  test("that a prepareItem submits once more joins the other, and its own promise disturbs nobody", async () => {
    let depth = 0;
    const answers: Promise<string>[] = [];
    const batcher = createBatcher(
      {
        prepareItem: (item: string): Promise<string> => {
          depth += 1;
          if (depth > 1) return Promise.resolve(item);
          answers.push(batcher.submit(item));
          return Promise.reject(new Error("not wanted any more"));
        },
        run: (items: string[]): string[] => items,
      },
      { dedupe: (item) => item },
    );
    answers.push(batcher.submit("a"));
    expect(await Promise.all(answers)).toEqual(["a", "a"]);
  });
});

describe("with `cache`, an item in preparation", () => {
  test("is answered from the cache, and its promise may reject without harm", async () => {
    const of = subject({ dedupe: (item) => item, cache: new Map([["a", "stored"]]) });
    expect(await of.batcher.submit("a")).toBe("stored");
    await of.fail("a", new Error("not wanted any more"));
    await of.batcher.idle();
    expect(of.batcher.stats()).toMatchObject({ completed: 1, cacheHits: 1, failed: 0 });
  });

  test("may fail while it is still looked up: its caller hears of it when the look-up has missed", async () => {
    let answer: (value: undefined) => void = () => {};
    const get = (): Promise<undefined> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const of = subject({ dedupe: (item) => item, cache: { get, set: () => {} } });
    const failed = watch(of.batcher.submit("a"));
    await of.fail("a", new Error("unreadable"));
    expect([failed.state, unhandled]).toEqual(["pending", []]);
    answer(undefined);
    await of.clock.settle();
    expect(failed.reason).toEqual(new Error("unreadable"));
  });

  test("is stored by the key of the item as it was submitted", async () => {
    const cache = new Map<string, string>();
    const of = subject({ dedupe: (item) => item, cache });
    const answer = of.batcher.submit("a");
    await of.ready("a", "prepared");
    expect(await answer).toBe("PREPARED");
    expect([...cache]).toEqual([["a", "PREPARED"]]);
  });
});

describe("with costs, an item in preparation", () => {
  test("costs what `cost` said of the item as it was submitted", async () => {
    const of = subject({ cost: (item) => item.length, maxBatchCost: 5 });
    const answers = of.batcher.submitMany(["aaa", "bb", "c"]);
    for (const item of ["aaa", "bb", "c"]) await of.ready(item, `${item} and much more`);
    await answers;
    expect(of.batches.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(of.batcher.stats().batchCost.max).toBe(3);
  });

  test("is measured by a `batchCost` function as it was prepared, never as a promise", async () => {
    const seen: unknown[] = [];
    const of = subject({
      batchCost: (items) => {
        seen.push(...items);
        return items.reduce((sum, item) => sum + item.length, 0);
      },
      maxBatchCost: 10,
    });
    const settled = watch(of.batcher.submitSettled(["a", "b"]));
    await of.ready("a", "four");
    await of.ready("b", "more than ten of them");
    expect(settled.value).toMatchObject([{ value: "FOUR" }, { reason: { code: "ITEM_TOO_LARGE" } }]);
    expect(of.batcher.stats()).toMatchObject({ completed: 1, rejected: 1 });
    expect(seen.every((item) => typeof item === "string")).toBe(true);
  });

  test('runs alone when it is over the cap and `oversize` is "alone"', async () => {
    const of = subject({ cost: (item) => item.length, maxBatchCost: 3, oversize: "alone", maxWaitMs: 10 });
    const answers = of.batcher.submitMany(["a", "large", "b"]);
    for (const item of ["a", "large", "b"]) await of.ready(item);
    await of.clock.advance(10);
    await answers;
    expect(of.batches).toEqual([["a"], ["large"], ["b"]]);
  });

  test("fails alone when `batchCost` throws for it", async () => {
    const of = subject({
      batchCost: (items) => {
        if (items.includes("bad")) throw new Error("no size");
        return 1;
      },
      maxBatchCost: 10,
    });
    const settled = watch(of.batcher.submitSettled(["a", "b"]));
    await of.ready("a", "bad");
    await of.ready("b");
    expect(settled.value).toMatchObject([{ reason: new Error("no size") }, { value: "B" }]);
    expect(of.batcher.stats()).toMatchObject({ failed: 1, completed: 1 });
  });

  test("is not handed over when `batchCost` sends its caller away", async () => {
    const leave = new AbortController();
    const batchCost = (): number => {
      leave.abort(new Error("gone"));
      return 1;
    };
    const of = subject({ batchCost, maxBatchCost: 10 });
    const left = reasonOf(of.batcher.submit("a", { signal: leave.signal }));
    await of.ready("a");
    expect(await left).toEqual(new Error("gone"));
    await of.batcher.idle();
    expect(of.batches).toEqual([]);
  });
});
