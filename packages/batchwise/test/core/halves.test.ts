// The halves of a batch that failed as a whole (`isolateFailures`): each has calls of its own, and no caller of one is lost
// because of another.

import { createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { gate, range, watch } from "../support.ts";

/** Fails for more than one item. */
const singly = (items: string[]): string[] => {
  if (items.length > 1) throw new Error("one of them is bad");
  return items;
};

test("halves whose turn comes after one that everybody left are called", async () => {
  const clock = virtualClock();
  const batcher = createBatcher({ open: () => {}, run: singly }, { clock, isolateFailures: true });
  const controller = new AbortController();
  const one = batcher.submit("one");
  const two = watch(batcher.submit("two", { signal: controller.signal }));
  const others = [watch(batcher.submit("three")), watch(batcher.submit("four"))];
  await one;
  controller.abort();
  await clock.settle();
  expect(two.state).toBe("rejected");
  expect(others.map(({ value }) => value)).toEqual(["three", "four"]);
  await batcher.close();
});

describe("with stages", () => {
  test("a half that timed out while it was prepared is not run beside the next one", async () => {
    const clock = virtualClock();
    const slow = gate();
    const runs: string[][] = [];
    const handler = {
      prepare: async (items: string[]) => {
        if (items.length === 1 && items[0] === "slow") await slow.promise;
        return items;
      },
      run: (items: string[]) => {
        runs.push(items);
        return singly(items);
      },
    };
    const batcher = createBatcher(handler, { clock, isolateFailures: true, handlerTimeoutMs: 50 });
    const call = batcher.submitSettled(["slow", "one"]);
    await clock.advance(60);
    slow.open();
    await clock.settle();
    expect((await call).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(runs).toEqual([["slow", "one"], ["one"]]);
    await batcher.close();
  });
});

test.each([
  ["first", ["hangs", "one"]],
  ["last", ["one", "hangs"]],
])("a batch of which the %s half timed out has not failed as a whole", async (_, items) => {
  const clock = virtualClock();
  const batcher = createBatcher(
    (items: string[]) => (items[0] === "hangs" && items.length === 1 ? new Promise<string[]>(() => {}) : singly(items)),
    { clock, isolateFailures: true, handlerTimeoutMs: 50 },
  );
  const errors: unknown[] = [];
  batcher.on("batch", ({ error }) => errors.push(error));
  const call = batcher.submitSettled(items);
  await clock.advance(200);
  expect((await call).map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(errors).toEqual([undefined]);
  await batcher.close();
});

test.each(["dedupe", "length"])("an earlier call reads its requests after the batch has ended, with %s", async (by) => {
  const clock = virtualClock();
  const contexts: unknown[] = [];
  const late = gate();
  const batcher = createBatcher(
    async (items: string[], context) => {
      if (items.length > 1) throw new Error("one of them is bad");
      if (items[0] === "late") {
        await late.promise;
        contexts.push(...context.requests.map((request) => request.context));
      }
      return items;
    },
    {
      clock,
      isolateFailures: true,
      handlerTimeoutMs: 50,
      ...(by === "dedupe" ? { dedupe: String } : { order: "length" as const, cost: (item: string) => item.length }),
    },
  );
  const calls = [batcher.submit("late", { context: "mine" }), batcher.submit("one", { context: "other" })];
  const settled = Promise.allSettled(calls);
  await clock.advance(200);
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  await batcher.close();
  late.open();
  await clock.settle();
  expect(contexts).toEqual(["mine"]);
});

test("a size at which batches fail whose halves succeed is learned as too large", async () => {
  const clock = virtualClock();
  const sizes: number[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      sizes.push(items.length);
      if (items.length > 100) throw new Error("out of memory");
      return new Promise<number[]>((resolve) => clock.setTimeout(() => resolve(items), 50 + items.length / 10));
    },
    { clock, maxBatchCost: "learn", isolateFailures: true, maxBatchSize: 1_000 },
  );
  const call = batcher.submitMany(range(9_000));
  await clock.runAll();
  expect(await call).toEqual(range(9_000));
  expect(sizes.filter((size) => size > 100).length).toBeLessThan(sizes.length / 5);
  await batcher.close();
});
