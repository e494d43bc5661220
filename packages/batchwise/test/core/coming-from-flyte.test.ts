// What users of Flyte's DynamicBatcher and TokenBatcher rely on, and the cases in which they lose items there.
// docs/coming-from.md points here.

import { createTokenBatcher } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig, watch } from "../support.ts";

const itsOwnCost = (item: number): number => item;

describe("a cost budget", () => {
  test("costs 60, 60, 99, 99, 500 and 1 under a budget of 100 overshoot nowhere", async () => {
    const of = rig<number>({ cost: itsOwnCost, maxBatchCost: 100, oversize: "alone" });
    const answers = of.batcher.submitMany([60, 60, 99, 99, 500, 1]);
    await echoAll(of);
    expect(await answers).toEqual([60, 60, 99, 99, 500, 1]);
    expect(of.handler.batches).toEqual([[60], [60], [99], [99], [500], [1]]);
  });

  test("a batch that the budget closes below `minBatchSize` goes, however small", async () => {
    const of = rig<number>({ cost: () => 60, maxBatchCost: 100, minBatchSize: 3, maxWaitMs: 50 });
    const answers = of.batcher.submitMany(range(20));
    await echoAll(of);
    expect(await of.clock.advance(0).then(() => of.handler.batches.length)).toBeGreaterThanOrEqual(19);
    await of.clock.advance(50);
    await echoAll(of);
    expect(await answers).toEqual(range(20));
  });
});

describe("a minimum", () => {
  test("a lone item below `minBatchSize` goes when its wait is over", async () => {
    const of = rig<string>({ minBatchSize: 2, maxWaitMs: 50 });
    const answer = of.batcher.submit("lone");
    await of.clock.advance(49);
    expect(of.handler.calls.length).toBe(0);
    await of.clock.advance(1);
    await echo(of);
    expect(await answer).toBe("lone");
  });

  test("a queue smaller than `minBatchSize` cannot lock up", async () => {
    const of = rig<number>({ minBatchSize: 8, maxWaitMs: Number.POSITIVE_INFINITY, maxQueueSize: 4 });
    const answers = of.batcher.submitMany(range(20));
    await echoAll(of);
    expect(await answers).toEqual(range(20));
    expect(of.handler.batches.map(({ length }) => length)).toEqual([4, 4, 4, 4, 4]);
  });
});

describe("what an item costs", () => {
  test("the submit's own figure goes first, then `estimateTokens`, the item's own method and `defaultTokens`", async () => {
    class Prompt {
      estimateTokens(): number {
        return 7;
      }
    }
    const costs = async (options: object, item: unknown, cost?: number): Promise<number | undefined> => {
      const handler = puppetHandler<unknown>();
      const batcher = createTokenBatcher(handler, { clock: virtualClock(), ...options });
      void batcher.submit(item, { cost });
      await virtualClock().settle();
      return handler.calls[0]?.context.cost;
    };
    const estimateTokens = (): number => 5;
    expect(await costs({ estimateTokens, defaultTokens: 3 }, new Prompt(), 9)).toBe(9);
    expect(await costs({ estimateTokens, defaultTokens: 3 }, new Prompt())).toBe(5);
    expect(await costs({ defaultTokens: 3 }, new Prompt())).toBe(7);
    expect(await costs({ defaultTokens: 3 }, { id: 1 })).toBe(3);
    expect(await costs({}, { text: "x".repeat(40) })).toBe(10);
  });

  test("an estimator that fails is the failure of its own submit", async () => {
    const estimateTokens = (item: string): number => {
      if (item === "bad") throw new Error("cannot tell");
      return 1;
    };
    const batcher = createTokenBatcher(async (items: string[]) => items, { estimateTokens });
    const [bad, good] = await batcher.submitSettled(["bad", "good"]);
    expect(bad).toEqual({ status: "rejected", reason: new Error("cannot tell") });
    expect(good).toEqual({ status: "fulfilled", value: "good" });
  });

  test("a token batcher has 32,000 tokens and 256 items for its caps unless told otherwise", () => {
    const handler = async (items: string[]): Promise<string[]> => items;
    const { maxBatchCost, maxBatchSize } = createTokenBatcher(handler).options;
    expect([maxBatchCost, maxBatchSize]).toEqual([32_000, 256]);
    expect(createTokenBatcher(handler, { maxBatchTokens: 8_000 }).options.maxBatchCost).toBe(8_000);
  });
});

describe("life and backpressure", () => {
  test("a submit in two steps: ready() waits for room, then the submit is taken at once", async () => {
    const of = rig<string>({ maxBatchSize: 1, maxQueueSize: 1 });
    const answers = of.batcher.submitMany(["runs", "waits"]);
    await of.clock.settle();
    const ready = watch(of.batcher.ready());
    await of.clock.settle();
    expect(ready.state).toBe("pending");
    await echo(of);
    expect(ready.state).toBe("fulfilled");
    await echoAll(of);
    expect(await answers).toEqual(["runs", "waits"]);
  });

  test("close() answers all that was submitted, blocked submits too, and runs no timeout down", async () => {
    const of = rig<number>({ maxBatchSize: 2, maxQueueSize: 2, maxWaitMs: 1_000 });
    const answers = of.batcher.submitMany(range(7));
    const closed = watch(of.batcher.close());
    await echoAll(of);
    expect(await answers).toEqual(range(7));
    expect([closed.state, of.clock.now()]).toEqual(["fulfilled", 0]);
  });

  test("a submit during the drain is refused with CLOSED, it is not forgotten", async () => {
    const of = rig<string>();
    const before = of.batcher.submit("before");
    void of.batcher.close();
    const late = await reasonOf(of.batcher.submit("late"));
    expect(late).toMatchObject({ code: "CLOSED" });
    await echoAll(of);
    expect(await before).toBe("before");
  });

  test("an error in the body of an `await using` block still lets what was submitted end", async () => {
    const of = rig<string>();
    let answer: Promise<string> | undefined;
    const body = async (): Promise<void> => {
      await using batcher = of.batcher;
      answer = batcher.submit("a");
      throw new Error("in the body");
    };
    const failed = reasonOf(body());
    await echoAll(of);
    expect(await failed).toEqual(new Error("in the body"));
    expect(await answer).toBe("a");
  });
});

describe("statistics", () => {
  test("failed and cancelled items are not counted as completed", async () => {
    const of = rig<string>({ maxBatchSize: 1 });
    const leave = new AbortController();
    const answers = [
      of.batcher.submitSettled(["good", "bad"]),
      of.batcher.submitSettled(["gone"], { signal: leave.signal }),
    ];
    leave.abort();
    await echo(of);
    of.handler.calls[1]?.reject(new Error("bad"));
    await Promise.all(answers);
    expect(of.batcher.stats()).toMatchObject({ submitted: 3, completed: 1, failed: 1, cancelled: 1, batches: 2 });
  });

  test("a snapshot is frozen and stays what it was", async () => {
    const of = rig<string>();
    const before = of.batcher.stats();
    const answer = of.batcher.submit("a");
    await echo(of);
    await answer;
    expect(before.submitted).toBe(0);
    expect(Object.isFrozen(before)).toBe(true);
    expect(of.batcher.stats().submitted).toBe(1);
  });

  test("utilization is the share of its life in which the batcher was busy, and is there after close()", async () => {
    const of = rig<number>({ cost: itsOwnCost });
    await of.clock.advance(30);
    const answers = of.batcher.submitMany([2, 3]);
    await of.clock.advance(10);
    await echo(of);
    await answers;
    await of.batcher.close();
    const { utilization, averageBatchSize, averageBatchCost, batches } = of.batcher.stats();
    expect({ utilization, averageBatchSize, averageBatchCost, batches }).toEqual({
      utilization: 0.25,
      averageBatchSize: 2,
      averageBatchCost: 5,
      batches: 1,
    });
  });
});
