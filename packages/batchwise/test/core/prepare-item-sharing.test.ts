// An item in preparation beside the options that look at items: `dedupe`, `cache` and costs.

import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { gate, reasonOf, watch } from "../support.ts";
import { subject, watchUnhandled } from "./prepare-item-kit.ts";

const unhandled = watchUnhandled();

describe("with `dedupe`, an item in preparation", () => {
  test("is prepared once for all equal callers, who may cancel one by one", async () => {
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

  test("becomes as urgent as the most urgent caller that joins it", async () => {
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

  test("fails all equal callers when its promise rejects; the next one runs again", async () => {
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

  test("that a prepareItem submits once more joins the other, and its own promise affects no caller", async () => {
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

  test("may fail during its look-up: its caller gets the error when the look-up has missed", async () => {
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
  test("has the cost that `cost` gave when the item was submitted", async () => {
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

  test("rejects only its caller when `batchCost` throws for it", async () => {
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

describe("a look-up that is turned into a miss while its item still has to be prepared", () => {
  test.each<[found: string | undefined, how: string]>([
    [undefined, "close"],
    ["stored", "close"],
    [undefined, "forget"],
    ["stored", "forget"],
  ])("counts as a miss, though it finds %j later: by %s", async (found, how) => {
    const lookUp = gate();
    const cache = { get: () => lookUp.promise.then(() => found), set() {}, delete() {} };
    const of = subject({ dedupe: (item) => item, cache });
    const answer = watch(of.batcher.submit("a"));
    const done = how === "close" ? of.batcher.close() : of.batcher.forget("a");
    await of.clock.settle();
    lookUp.open();
    await of.clock.settle();
    expect(answer.state).toBe("pending");
    await of.ready("a", "anew");
    expect(answer).toEqual({ state: "fulfilled", value: "ANEW" });
    expect(of.batcher.stats()).toMatchObject({ completed: 1, cacheHits: 0 });
    await done;
  });
});
