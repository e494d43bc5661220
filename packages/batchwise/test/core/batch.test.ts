import { runInThisContext } from "node:vm";
import { batch, batchStream, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { range, reasonOf, thrownBy } from "../support.ts";

const members = [
  "submit",
  "submitMany",
  "submitSettled",
  "ready",
  "flush",
  "pause",
  "resume",
  "configure",
  "options",
  "stats",
  "inspect",
  "on",
  "close",
  "closed",
  Symbol.asyncDispose,
] as const;

describe("batch()", () => {
  test("makes a function that batches the calls of one turn and answers each with its own result", async () => {
    const calls: number[][] = [];
    const double = batch(async (numbers: number[]) => {
      calls.push(numbers);
      return numbers.map((value) => value * 2);
    });
    expect(await Promise.all([double(1), double(2), double(3)])).toEqual([2, 4, 6]);
    expect(calls).toEqual([[1, 2, 3]]);
  });

  test.each(members)("has the batcher's member %s on the function", (member) => {
    const fn = batch((items: number[]) => items);
    const batcher = createBatcher((items: number[]) => items);
    expect(member in fn).toBe(true);
    expect(typeof fn[member]).toBe(typeof batcher[member]);
  });

  test("shows live values of `options` and `closed` on the function", async () => {
    const fn = batch((items: number[]) => items);
    fn.configure({ maxBatchSize: 7 });
    expect(fn.options.maxBatchSize).toBe(7);
    expect(fn.closed).toBe(false);
    await fn.close();
    expect(fn.closed).toBe(true);
  });

  test("has members that work when they are taken off the function", async () => {
    const { submitMany, stats, close } = batch((items: number[]) => items);
    expect(await submitMany([1, 2])).toEqual([1, 2]);
    expect(stats().completed).toBe(2);
    await close();
  });

  test("shares one queue between calls and submits", async () => {
    const calls: number[][] = [];
    const fn = batch((items: number[]) => {
      calls.push(items);
      return items;
    });
    await Promise.all([fn(1), fn.submit(2), fn.submitMany([3, 4])]);
    expect(calls).toEqual([[1, 2, 3, 4]]);
  });

  test("takes submit options as the second argument of a call", async () => {
    const fn = batch((items: number[], { requests }) => items.map((_, index) => requests[index]?.priority));
    expect(await fn(1, { priority: 3 })).toBe(3);
  });

  test("explains the mistake when a call is passed to `map` and gets an index for options", async () => {
    const fn = batch((items: number[]) => items) as (item: number, options?: never) => Promise<number>;
    const error = await reasonOf(fn(1, 0 as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("Expected `options` to be an object, got `0` (number): `list.map(fn)` passes"),
    });
  });

  test("closes at the end of the block where the platform itself runs `await using`", async () => {
    // V8 refuses a bound function here. The test runner would rewrite the syntax of this file.
    const block = runInThisContext("async (make) => { await using held = make(); }") as (
      make: () => object,
    ) => Promise<void>;
    const fn = batch((items: number[]) => items);
    await block(() => fn);
    expect(fn.closed).toBe(true);
  });

  test("closes at the end of the block when declared with `await using`", async () => {
    const closings: string[] = [];
    let late: Promise<number>;
    {
      await using fn = batch({ run: (items: number[]) => items, close: () => void closings.push("closed") });
      late = fn(1);
    }
    expect(closings).toEqual(["closed"]);
    expect(await late).toBe(1);
  });
});

describe("a handler", () => {
  test.each([
    ["nothing", undefined, "`undefined`"],
    ["null", null, "`null`"],
    ["a number", 3, "`3` (number)"],
    ["an object without run", {}, "an object (Object)"],
    ["an object whose run is no function", { run: 1 }, "an object (Object)"],
  ])("is refused when it is %s", (_, handler, got) => {
    const error = thrownBy(() => createBatcher(handler as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(`got ${got}`);
  });

  test("is refused with a hint when the options come first", () => {
    const handler = (items: number[]): number[] => items;
    for (const maker of [batch, createBatcher, batchStream]) {
      const make = maker as (...swapped: unknown[]) => unknown;
      expect(String(thrownBy(() => make({ maxBatchSize: 2 }, handler)))).toMatch(
        /^TypeError: Expected `handler` to be .*, got an object \(Object\): the handler is the first argument$/,
      );
    }
  });

  test.each(["prepareItem", "prepare", "finish", "open", "close"])("is refused when its %s is no function", (stage) => {
    const error = thrownBy(() => createBatcher({ run: (items: number[]) => items, [stage]: 1 } as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });

  test("may be an object whose methods use `this`", async () => {
    class Model {
      readonly #factor = 3;
      run(items: number[]): number[] {
        return items.map((value) => value * this.#factor);
      }
    }
    expect(await createBatcher(new Model()).submitMany([1, 2])).toEqual([3, 6]);
  });

  test("may answer at once, without a promise", async () => {
    expect(await createBatcher((items: number[]) => items.map(String)).submitMany([1, 2])).toEqual(["1", "2"]);
  });

  test.each([
    ["Float32Array", Float32Array, 0.5],
    ["Float64Array", Float64Array, 0.1],
    ["Uint8Array", Uint8Array, 7],
    ["Int32Array", Int32Array, -3],
  ])("may answer with a %s", async (_, Kind, value) => {
    const batcher = createBatcher((items: number[]) => Kind.from(items));
    expect(await batcher.submitMany([value, 1])).toEqual([value, 1]);
  });

  test("may answer with a BigInt64Array", async () => {
    const batcher = createBatcher((items: bigint[]) => BigInt64Array.from(items));
    expect(await batcher.submitMany([1n, -2n])).toEqual([1n, -2n]);
  });

  test("is called with an array of its own, which it may keep", async () => {
    const kept: number[][] = [];
    const batcher = createBatcher(
      (items: number[]) => {
        kept.push(items);
        return items;
      },
      { maxBatchSize: 4 },
    );
    await batcher.submitMany(range(10));
    expect(kept).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
  });
});
