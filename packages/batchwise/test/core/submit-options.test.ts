// Options of a submit, with functions of `submitMany`. A mistake concerns only its item.

import { createBatcher, type SubmitOptions } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig } from "../support.ts";

describe("`cost` of submitMany() as a function", () => {
  test.each(["submitMany", "submitSettled"] as const)("gives each item its own, in %s()", async (method) => {
    const of = rig<number>({ maxBatchCost: 10, cost: () => 10 });
    const results = of.batcher[method]([4, 6, 7, 1], { cost: (item) => item });
    await echoAll(of);
    await results;
    expect(of.handler.batches).toEqual([
      [4, 6],
      [7, 1],
    ]);
    expect(of.handler.calls.map(({ context }) => context.cost)).toEqual([10, 8]);
  });

  test("is called once for each item, in order, in the caller's time, with the item and nothing else", () => {
    const seen: unknown[][] = [];
    const cost = (...args: unknown[]): number => {
      seen.push(args);
      return 1;
    };
    void rig<string>().batcher.submitMany(["a", "b"], { cost });
    expect(seen).toEqual([["a"], ["b"]]);
  });

  test("wins over the item's own estimate", async () => {
    const of = rig<object>({ maxBatchCost: 10 });
    void of.batcher.submitMany([{ estimateCost: () => 9 }, { estimateCost: () => 9 }], { cost: () => 5 });
    await echoAll(of);
    expect(of.handler.calls.map(({ context }) => context.cost)).toEqual([10]);
  });

  test("finds an item too large as `cost` would, and `oversize` decides", async () => {
    const of = rig<number>({ maxBatchCost: 10 });
    const settled = of.batcher.submitSettled([1, 11], { cost: (item) => item });
    await echoAll(of);
    expect(await settled).toMatchObject([{ value: 1 }, { reason: { code: "ITEM_TOO_LARGE" } }]);
    const alone = rig<number>({ maxBatchCost: 10, oversize: "alone" });
    void alone.batcher.submitMany([1, 11, 2], { cost: (item) => item });
    await echoAll(alone);
    expect(alone.handler.batches).toEqual([[1], [11], [2]]);
  });
});

describe("`priority` of submitMany() as a function", () => {
  test("gives each item its own: higher first, in order among equals", async () => {
    const of = rig<number>({ maxBatchSize: 2 });
    const results = of.batcher.submitMany([1, 3, 2, 3, 0], { priority: (item) => item });
    await echoAll(of);
    expect(await results).toEqual([1, 3, 2, 3, 0]);
    expect(of.handler.batches).toEqual([[3, 3], [2, 1], [0]]);
  });

  test("reaches the handler, and may be any number", async () => {
    const of = rig<number>();
    const values = [Number.NEGATIVE_INFINITY, -1.5, 0, Number.POSITIVE_INFINITY];
    void of.batcher.submitMany(values, { priority: (item) => item });
    await of.clock.settle();
    const { context } = of.handler.calls[0] ?? {};
    expect(context?.requests.map(({ priority }) => priority)).toEqual([...values].reverse());
    await echo(of);
  });

  test("with `dedupe` makes the shared place as urgent as its most urgent item", async () => {
    const of = rig<string>({ dedupe: (item) => item.slice(0, 1), maxBatchSize: 1 });
    const results = of.batcher.submitMany(["a", "b", "b!"], { priority: (item) => item.length });
    await echoAll(of);
    await results;
    expect(of.handler.batches).toEqual([["b"], ["a"]]);
  });
});

describe.each(["cost", "priority"] as const)("a function for `%s` that misbehaves", (name) => {
  const failure = new Error("of the user's own making");
  const wrong: Record<string, () => unknown> = {
    undefined: () => undefined,
    null: () => null,
    NaN: () => Number.NaN,
    "a text": () => "5",
    "a bigint": () => 5n,
    "a promise": () => Promise.resolve(1),
    "a promise that rejects": () => Promise.reject(failure),
  };

  test.each(Object.keys(wrong))("rejects only its item when it returns %s", async (what) => {
    const batcher = createBatcher((items: number[]) => items, { cost: () => 1, maxBatchCost: 100 });
    const option = (item: number): number => (item === 2 ? (wrong[what]?.() as number) : 1);
    const settled = await batcher.submitSettled([1, 2, 3], { [name]: option });
    expect(settled).toMatchObject([{ value: 1 }, { reason: { code: "INVALID_OPTION" } }, { value: 3 }]);
    expect(String((settled[1] as PromiseRejectedResult).reason)).toContain(`\`${name}\``);
    expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1 });
  });

  test("rejects only its item with its own error, and submitMany() with that", async () => {
    const batcher = createBatcher((items: number[]) => items);
    const option = (item: number): number => {
      if (item === 2) throw failure;
      return 1;
    };
    expect(await reasonOf(batcher.submitMany([1, 2, 3], { [name]: option }))).toBe(failure);
    expect(await batcher.submitSettled([2, 3], { [name]: option })).toEqual([
      { status: "rejected", reason: failure },
      { status: "fulfilled", value: 3 },
    ]);
  });

  test("is refused for a single submit", async () => {
    const batcher = createBatcher((items: number[]) => items);
    const options = { [name]: () => 1 } as unknown as SubmitOptions;
    expect(await reasonOf(batcher.submit(1, options))).toMatchObject({ code: "INVALID_OPTION" });
  });
});

describe("an unknown submit option", () => {
  const submit: Record<string, (options: object) => Promise<unknown>> = {};
  const batcher = createBatcher((items: number[]) => items);
  submit["submit()"] = (options) => batcher.submit(1, options as SubmitOptions);
  submit["submitMany()"] = (options) => batcher.submitMany([1, 2], options as SubmitOptions);
  submit["submitSettled()"] = async (options) => {
    const [first] = await batcher.submitSettled([1], options as SubmitOptions);
    throw (first as PromiseRejectedResult).reason;
  };

  test.each(Object.keys(submit))("is refused by %s with the name that was probably meant", async (method) => {
    const error = await reasonOf(submit[method]?.({ prioritiy: 1 }) ?? Promise.resolve());
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
    expect(String(error)).toContain("Unknown option `prioritiy`, did you mean `priority`?");
  });

  test.each(["maxWaitMs", "tokens", "timeoutMS", "retry", "abortSignal"])("is refused: `%s`", async (name) => {
    const error = await reasonOf(batcher.submit(1, { [name]: 1 } as SubmitOptions));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(`\`${name}\``);
  });

  test("is refused though its value is undefined, and costs every item of its call and no other's", async () => {
    const of = rig<number>();
    const other = of.batcher.submit(0);
    const settled = await of.batcher.submitSettled(range(3), { timeout: undefined } as SubmitOptions);
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    await echoAll(of);
    expect(await other).toBe(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 4, completed: 1, failed: 3 });
    expect(of.handler.batches).toEqual([[0]]);
  });

  test("is no known one with the value undefined: that counts as not given", async () => {
    const options = { signal: undefined, priority: undefined, cost: undefined, timeoutMs: undefined, key: undefined };
    expect(await batcher.submit(1, { ...options, context: undefined })).toBe(1);
    expect(await batcher.submitMany([1, 2], { ...options, context: undefined })).toEqual([1, 2]);
  });
});

describe("the item's own estimate in a plain batcher", () => {
  const item = (estimates: object): object => estimates;

  async function costOf(estimates: object, options: object): Promise<number | undefined> {
    const of = rig<object>(options);
    const answer = of.batcher.submitSettled([item(estimates)]);
    await echoAll(of);
    await answer;
    return of.handler.calls[0]?.context.cost;
  }

  test.each([
    ["estimateTokens()", { estimateTokens: (): number => 7 }, 7],
    ["estimateCost()", { estimateCost: (): number => 6 }, 6],
    ["estimateTokens() before estimateCost()", { estimateTokens: (): number => 7, estimateCost: (): number => 6 }, 7],
    ["nothing where neither is a function", { estimateTokens: 7, estimateCost: 6 }, 1],
  ])("is called with a finite `maxBatchCost`: %s", async (_, estimates, cost) => {
    expect(await costOf(estimates, { maxBatchCost: 10 })).toBe(cost);
  });

  test.each([
    ["without a cap", {}],
    ["with a `cost`", { maxBatchCost: 10, cost: () => 1 }],
    ["with an infinite cap", { maxBatchCost: Number.POSITIVE_INFINITY }],
  ])("is not called %s", async (_, options) => {
    let asked = 0;
    const estimateCost = (): number => {
      asked += 1;
      return 6;
    };
    expect(await costOf({ estimateCost }, options)).toBe(1);
    expect(asked).toBe(0);
  });

  test("is called from the moment in which configure() sets a cap", async () => {
    const of = rig<object>();
    of.batcher.configure({ maxBatchCost: 10 });
    void of.batcher.submitMany([{ estimateCost: (): number => 6 }, { estimateCost: (): number => 6 }]);
    await echoAll(of);
    expect(of.handler.batches.map(({ length }) => length)).toEqual([1, 1]);
  });

  test("is called as a method of its item, from a prototype too, once", async () => {
    let asked = 0;
    class Document {
      readonly length = 8;
      estimateTokens(): number {
        asked += 1;
        return this.length;
      }
    }
    expect(await costOf(new Document(), { maxBatchCost: 10 })).toBe(8);
    expect(asked).toBe(1);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no estimate");
      },
    ],
    ["returns NaN", () => Number.NaN],
    ["returns a promise that rejects", () => Promise.reject(new Error("no estimate"))],
    ["returns -1", () => -1],
  ])("that %s rejects only that item", async (_, estimateCost) => {
    const batcher = createBatcher((items: object[]) => items.map(() => "done"), { maxBatchCost: 10 });
    const settled = await batcher.submitSettled([{}, { estimateCost }, {}]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1 });
  });
});
