import { runInNewContext } from "node:vm";
import { createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

describe("a handler's error", () => {
  test("reaches every caller of the batch unwrapped: the same object", async () => {
    const failure = new Error("no connection");
    const batcher = createBatcher(async (): Promise<number[]> => {
      throw failure;
    });
    const settled = await batcher.submitSettled([1, 2]);
    expect(settled.map((one) => one.status === "rejected" && one.reason === failure)).toEqual([true, true]);
  });

  test.each(["a word", 42, null, undefined])("may be anything that can be thrown: %s", async (failure) => {
    const batcher = createBatcher((): number[] => {
      throw failure;
    });
    expect(await reasonOf(batcher.submit(1))).toBe(failure);
  });

  test("rejects only its caller when it stands in a place of the results", async () => {
    const failure = new TypeError("only you");
    const batcher = createBatcher((items: number[]) => items.map((item) => (item === 2 ? failure : item)));
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled).toEqual([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: failure },
      { status: "fulfilled", value: 3 },
    ]);
    expect((settled[1] as PromiseRejectedResult).reason).toBe(failure);
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1 });
  });

  test("is known for one when it comes from another realm", async () => {
    const foreign: unknown = runInNewContext("new Error('from elsewhere')");
    expect(foreign instanceof Error).toBe(false);
    const batcher = createBatcher((items: number[]) => items.map(() => foreign as Error));
    expect(await reasonOf(batcher.submit(1))).toBe(foreign);
  });

  test("may come from a promise in a place, by rejection or as its value", async () => {
    const batcher = createBatcher((): Promise<number>[] => [
      Promise.reject(new Error("rejected")),
      Promise.resolve(new Error("resolved") as never),
      Promise.resolve(3),
    ]);
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled).toEqual([
      { status: "rejected", reason: new Error("rejected") },
      { status: "rejected", reason: new Error("resolved") },
      { status: "fulfilled", value: 3 },
    ]);
  });
});

describe("an answer that cannot be dealt out", () => {
  test.each<[name: string, answer: unknown, got: RegExp]>([
    ["too few", ["a"], /\b3\b.*\b1\b/],
    ["too many", ["a", "b", "c", "d"], /\b3\b.*\b4\b/],
    ["none", [], /\b3\b.*\b0\b/],
    ["nothing", undefined, /\b3\b.*undefined/],
    ["null", null, /\b3\b.*null/],
    ["a text of the right length", "abc", /\b3\b.*string/],
    ["a set", new Set([1, 2, 3]), /\b3\b.*Set/],
    ["an array-like object", { length: 3, 0: 1, 1: 2, 2: 3 }, /\b3\b.*Object/],
    ["an iterator", [1, 2, 3].values(), /\b3\b/],
    ["a DataView", new DataView(new ArrayBuffer(3)), /\b3\b.*DataView/],
    ["an ArrayBuffer", new ArrayBuffer(3), /\b3\b.*ArrayBuffer/],
    ["a typed array that is too short", new Float32Array(2), /\b3\b.*\b2\b/],
  ])("rejects the whole batch with BATCH_RESULT, which describes the answer: %s", async (_, answer, got) => {
    for (const handler of [() => answer, async () => answer]) {
      const batcher = createBatcher(handler as () => number[]);
      const settled = await batcher.submitSettled([1, 2, 3]);
      for (const one of settled) {
        expect(one).toMatchObject({ status: "rejected", reason: { name: "BatchwiseError", code: "BATCH_RESULT" } });
        expect(String((one as PromiseRejectedResult).reason)).toMatch(got);
      }
      expect(batcher.stats()).toMatchObject({ failed: 3, batches: 1 });
    }
  });

  test("does not stop the loop: the next batch is dealt out as ever", async () => {
    let calls = 0;
    const batcher = createBatcher((items: number[]) => {
      calls += 1;
      return calls === 1 ? [] : items;
    });
    expect(await reasonOf(batcher.submit(1))).toMatchObject({ code: "BATCH_RESULT" });
    expect(await batcher.submit(2)).toBe(2);
  });
});
