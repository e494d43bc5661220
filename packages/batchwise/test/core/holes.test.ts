// A hole in an answer of the right length is a forgotten result: its caller gets BATCH_RESULT, the
// others their own. An explicit `undefined` is a result.

import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

function sparse(length: number, values: Record<number, unknown>): unknown[] {
  const array = new Array<unknown>(length);
  for (const [index, value] of Object.entries(values)) array[Number(index)] = value;
  return array;
}

describe("a hole in an answer", () => {
  test("gives its caller BATCH_RESULT, which names the place and the length", async () => {
    const batcher = createBatcher((_: number[]) => sparse(3, { 0: "a", 2: "c" }));
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const { reason } = settled[1] as PromiseRejectedResult;
    expect(reason).toMatchObject({ name: "BatchwiseError", code: "BATCH_RESULT", retryable: false });
    expect(reason.message).toMatch(/3 results.*index 1/);
    expect(batcher.stats()).toMatchObject({ submitted: 3, completed: 2, failed: 1, running: 0 });
  });

  test("differs from an explicit `undefined`, which is a result", async () => {
    const batcher = createBatcher((_: number[]) => sparse(2, { 0: undefined }));
    expect(await batcher.submitSettled([1, 2])).toMatchObject([
      { status: "fulfilled", value: undefined },
      { status: "rejected", reason: { code: "BATCH_RESULT" } },
    ]);
  });

  test.each([1, 4])("in every one of %i places rejects every caller, and the next batch is as ever", async (length) => {
    let calls = 0;
    const batcher = createBatcher((items: number[]) => {
      calls += 1;
      return calls === 1 ? new Array<number>(items.length) : items;
    });
    const settled = await batcher.submitSettled(Array.from({ length }, (_, index) => index));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(await batcher.submit(7)).toBe(7);
  });

  test("may come from `delete`, from a promise, and from a stage", async () => {
    const dug = (items: number[]): number[] => {
      const copy = [...items];
      delete copy[0];
      return copy;
    };
    const handlers = [dug, async (items: number[]) => dug(items), { run: (items: number[]) => items, finish: dug }];
    for (const handler of handlers) {
      const batcher = createBatcher(handler as typeof dug);
      const settled = await batcher.submitSettled([1, 2]);
      expect(settled).toMatchObject([{ reason: { code: "BATCH_RESULT" } }, { value: 2 }]);
    }
  });

  test("rejects only its caller: no retry, no halving, and nothing is stored", async () => {
    let calls = 0;
    const cache = new Map<string, number>();
    const batcher = createBatcher(
      (items: number[]) => {
        calls += 1;
        return sparse(items.length, { 1: 2 }) as number[];
      },
      { retry: { attempts: 3 }, isolateFailures: true, dedupe: String, cache },
    );
    const settled = await batcher.submitSettled([1, 2, 1]);
    expect(settled).toMatchObject([{ reason: { code: "BATCH_RESULT" } }, { value: 2 }, { status: "rejected" }]);
    expect([calls, [...cache]]).toEqual([1, [["2", 2]]]);
  });

  test("in an answer of the wrong length is no hole: all callers get both lengths", async () => {
    const batcher = createBatcher((_: number[]) => sparse(3, { 0: 1 }));
    const error = await reasonOf(batcher.submit(1));
    expect(error).toMatchObject({ code: "BATCH_RESULT" });
    expect((error as Error).message).toMatch(/1 result,.*got 3/);
  });

  test("in a Proxy is read through the Proxy, and a trap that throws rejects only its caller", async () => {
    const has = (target: object, name: string | symbol): boolean => {
      if (name === "1") throw new Error("trap");
      return Reflect.has(target, name);
    };
    const batcher = createBatcher((_: number[]) => new Proxy(sparse(3, { 0: 1 }), { has }) as unknown[]);
    expect(await batcher.submitSettled([1, 2, 3])).toMatchObject([
      { value: 1 },
      { reason: new Error("trap") },
      { reason: { code: "BATCH_RESULT" } },
    ]);
  });
});

test("a handler that returns nothing at all for its places gets `undefined` through: Array.from, map and fill", async () => {
  const nothing: ((items: number[]) => unknown[])[] = [
    (items) => items.map(() => undefined),
    (items) => Array.from({ length: items.length }),
    (items) => new Array(items.length).fill(undefined),
  ];
  for (const handler of nothing) {
    expect(await createBatcher(handler).submitMany([1, 2])).toEqual([undefined, undefined]);
  }
});
