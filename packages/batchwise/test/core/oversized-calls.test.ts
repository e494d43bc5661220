// A call of more items than the queue can hold, with `onFull: "reject"`: the caller learns both
// numbers and that no retry will help, without an error per item.

import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig } from "../support.ts";

describe("a call of more items than the queue can hold", () => {
  test("gets QUEUE_FULL for every item, not retryable, on an idle batcher and each time", async () => {
    const of = rig<number>({ maxQueueSize: 4, onFull: "reject" });
    for (const _ of range(3)) {
      const settled = await of.batcher.submitSettled(range(5));
      expect(settled).toHaveLength(5);
      for (const outcome of settled) {
        expect(outcome).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: false } });
        expect((outcome as PromiseRejectedResult).reason.message).toMatch(/\b5\b.*\b4\b/);
      }
    }
    expect(of.handler.calls).toHaveLength(0);
    expect(of.batcher.stats()).toMatchObject({ submitted: 15, rejected: 15, waiting: 0 });
  });

  test("takes no room from others and calls no function of the user", async () => {
    const calls: unknown[] = [];
    const cost = (item: number): number => {
      calls.push(item);
      return 1;
    };
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", cost, maxBatchCost: 100 });
    const refused = reasonOf(of.batcher.submitMany(range(3)));
    const fits = of.batcher.submitMany([8, 9]);
    expect(await refused).toMatchObject({ code: "QUEUE_FULL", retryable: false });
    await echoAll(of);
    expect([await fits, calls]).toEqual([
      [8, 9],
      [8, 9],
    ]);
  });

  test("differs from that of a call that would fit into an empty queue, which is retryable and says so", async () => {
    const of = rig<number>({ maxQueueSize: 4, onFull: "reject" });
    of.batcher.pause();
    void of.batcher.submit(0);
    const settled = of.batcher.submitSettled(range(4));
    of.batcher.resume();
    await echoAll(of);
    expect((await settled).at(-1)).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: true } });
    const again = of.batcher.submitMany(range(4));
    await echoAll(of);
    expect(await again).toEqual(range(4));
  });

  test("follows configure(): a call that was too large fits, and the other way round", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject" });
    of.batcher.configure({ maxQueueSize: 3 });
    const fits = of.batcher.submitMany(range(3));
    await echoAll(of);
    expect(await fits).toEqual(range(3));
    of.batcher.configure({ maxQueueSize: 1 });
    expect(await reasonOf(of.batcher.submitMany([1, 2]))).toMatchObject({ retryable: false });
  });

  test.each(["wait", "drop-oldest"] as const)('is taken with `onFull: "%s"`', async (onFull) => {
    const of = rig<number>({ maxQueueSize: 2, onFull });
    const settled = of.batcher.submitSettled(range(5));
    await echoAll(of);
    const answered = (await settled).filter(({ status }) => status === "fulfilled");
    expect(answered).toHaveLength(onFull === "wait" ? 5 : 2);
  });

  test("of equal items fits where their shared places do", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", dedupe: String });
    const answers = of.batcher.submitMany([1, 1, 1, 2]);
    await echoAll(of);
    expect(await answers).toEqual([1, 1, 1, 2]);
  });

  test("gets QUEUE_FULL for every item where its different items are too many, and calls `dedupe` once for each", async () => {
    const seen: number[] = [];
    const dedupe = (item: number): string => {
      seen.push(item);
      return String(item % 10);
    };
    const of = rig<number>({ maxQueueSize: 3, onFull: "reject", dedupe });
    const settled = await of.batcher.submitSettled([1, 2, 3, 4, 11]);
    for (const outcome of settled) {
      expect(outcome).toMatchObject({ reason: { code: "QUEUE_FULL", retryable: false } });
      expect((outcome as PromiseRejectedResult).reason.message).toMatch(/\b4 different\b.*\b3\b/);
    }
    expect(of.batcher.stats()).toMatchObject({ submitted: 5, rejected: 5, waiting: 0 });
    const answers = of.batcher.submitMany([1, 2, 3, 11]);
    await echoAll(of);
    expect([await answers, seen]).toEqual([
      [1, 2, 3, 1],
      [1, 2, 3, 4, 11, 1, 2, 3, 11],
    ]);
  });

  test("of items that others wait for already is taken, for the queue need not hold them twice", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", dedupe: String });
    const first = of.batcher.submitMany([1, 2]);
    await of.clock.settle();
    const second = of.batcher.submitMany([1, 2, 3, 4]);
    await echoAll(of);
    expect([await first, await second]).toEqual([
      [1, 2],
      [1, 2, 3, 4],
    ]);
  });

  test("of items that the cache knows is answered", async () => {
    const cache = new Map(range(5).map((item) => [String(item), item]));
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", dedupe: String, cache });
    expect(await of.batcher.submitMany(range(5))).toEqual(range(5));
  });

  test("does not count an item whose `dedupe` throws", async () => {
    const dedupe = (item: number): string => {
      if (item === 2) throw new Error("no key");
      return String(item);
    };
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject", dedupe });
    const settled = of.batcher.submitSettled([1, 2, 3]);
    await echoAll(of);
    expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  test("gets CLOSED where `dedupe` closes the batcher meanwhile", async () => {
    const of = rig<number>({
      maxQueueSize: 2,
      onFull: "reject",
      dedupe: (item) => {
        void of.batcher.close();
        return String(item);
      },
    });
    expect(await reasonOf(of.batcher.submitMany(range(5)))).toMatchObject({ code: "CLOSED" });
  });

  test("gets CLOSED from a closed batcher", async () => {
    const of = rig<number>({ maxQueueSize: 2, onFull: "reject" });
    await of.batcher.close();
    expect(await reasonOf(of.batcher.submitMany(range(5)))).toMatchObject({ code: "CLOSED" });
  });
});
