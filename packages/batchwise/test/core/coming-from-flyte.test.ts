// What users of Flyte's DynamicBatcher and TokenBatcher rely on, and the cases in which they lose items there.
// docs/coming-from.md points here.

import { createTokenBatcher } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, reasonOf, rig } from "../support.ts";

const itsOwnCost = (item: number): number => item;

describe("a cost budget", () => {
  test("costs 60, 60, 99, 99, 500 and 1 under a budget of 100 overshoot nowhere", async () => {
    const of = rig<number>({ cost: itsOwnCost, maxBatchCost: 100, oversize: "alone" });
    const answers = of.batcher.submitMany([60, 60, 99, 99, 500, 1]);
    await echoAll(of);
    expect(await answers).toEqual([60, 60, 99, 99, 500, 1]);
    expect(of.handler.batches).toEqual([[60], [60], [99], [99], [500], [1]]);
  });

  test("a batch that the budget closes below `preferredBatchSize` goes, however small", async () => {
    const of = rig<number>({ cost: () => 60, maxBatchCost: 100, preferredBatchSize: 3, maxWaitMs: 50 });
    const answers = of.batcher.submitMany(range(20));
    await echoAll(of);
    expect(of.handler.batches.length).toBe(19);
    await of.clock.advance(50);
    await echoAll(of);
    expect(await answers).toEqual(range(20));
  });
});

describe("a minimum", () => {
  test("a lone item below `preferredBatchSize` goes when its wait is over", async () => {
    const of = rig<string>({ preferredBatchSize: 2, maxWaitMs: 50 });
    const answer = of.batcher.submit("lone");
    await of.clock.advance(49);
    expect(of.handler.calls.length).toBe(0);
    await of.clock.advance(1);
    await echo(of);
    expect(await answer).toBe("lone");
  });

  test("a queue smaller than `preferredBatchSize` cannot lock up", async () => {
    const of = rig<number>({ preferredBatchSize: 8, maxWaitMs: Number.POSITIVE_INFINITY, maxQueueSize: 4 });
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
});

describe("life and backpressure", () => {
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
