// Behaviour that users of Flyte's DynamicBatcher and TokenBatcher rely on, and cases in which they
// lose items there. docs/coming-from.md refers to these tests.

import { createBatcher, createTokenBatcher } from "batchwise";
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
  test("a single item below `preferredBatchSize` goes at the end of its wait", async () => {
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

describe("the cost of an item", () => {
  test("the submit's own figure goes first, then `estimateTokens`, the item's own methods and `defaultTokens`", async () => {
    class Prompt {
      estimateTokens(): number {
        return 7;
      }
    }
    const costs = async (options: object, item: unknown, tokens?: number): Promise<number | undefined> => {
      const handler = puppetHandler<unknown>();
      const batcher = createTokenBatcher(handler, { clock: virtualClock(), ...options });
      void batcher.submit(item, { tokens });
      await virtualClock().settle();
      return handler.calls[0]?.context.cost;
    };
    const estimateTokens = (): number => 5;
    expect(await costs({ estimateTokens, defaultTokens: 3 }, new Prompt(), 9)).toBe(9);
    expect(await costs({ estimateTokens, defaultTokens: 3 }, new Prompt())).toBe(5);
    expect(await costs({ defaultTokens: 3 }, new Prompt())).toBe(7);
    expect(await costs({ defaultTokens: 3 }, { estimateTokens: () => 7, estimateCost: () => 8 })).toBe(7);
    expect(await costs({ defaultTokens: 3 }, { estimateCost: () => 8 })).toBe(8);
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

// The examples of Flyte's documentation and tests, with their results here.
describe("its own examples of a TokenBatcher", () => {
  class Prompt {
    readonly text: string;

    constructor(text: string) {
      this.text = text;
    }

    estimateTokens(): number {
      return Math.floor(this.text.length / 4) + 1;
    }
  }

  test("a Prompt that counts its own tokens is answered, and counts as it says", async () => {
    const inference = (prompts: Prompt[], { cost }: { cost: number }): string[] =>
      prompts.map(({ text }) => `${cost} tokens: ${text}`);
    await using batcher = createTokenBatcher(inference, { maxBatchTokens: 32_000, maxBatchSize: 256 });
    expect(await batcher.submit(new Prompt("What is 2+2?"))).toBe("4 tokens: What is 2+2?");
    expect(await batcher.submit(new Prompt("Hello, world!"))).toBe("4 tokens: Hello, world!");
  });

  test("`tokens` of a submit wins over the estimator, which is not called", async () => {
    const asked: string[] = [];
    const estimateTokens = (text: string): number => {
      asked.push(text);
      return text.length * 10;
    };
    const batcher = createTokenBatcher((texts: string[], { cost }) => texts.map(() => cost), { estimateTokens });
    expect(await batcher.submit("hello", { tokens: 42 })).toBe(42);
    expect(asked).toEqual([]);
    expect(await batcher.submit("hello")).toBe(50);
    expect(asked).toEqual(["hello"]);
  });

  test("ten items of 2 tokens under a cap of 5 go two by two: none overshoots", async () => {
    const clock = virtualClock();
    const sizes: number[] = [];
    const handler = (items: { id: number }[]): { id: number }[] => {
      sizes.push(items.length);
      return items;
    };
    const batcher = createTokenBatcher(handler, { clock, maxBatchTokens: 5, defaultTokens: 2, maxBatchSize: 100 });
    const items = range(10).map((id) => ({ id }));
    const answers = batcher.submitMany(items);
    await clock.settle();
    expect(await answers).toEqual(items);
    expect(sizes).toEqual([2, 2, 2, 2, 2]);
  });

  test('an oversize prompt runs alone with `oversize: "alone"`', async () => {
    const clock = virtualClock();
    const sizes: number[] = [];
    const handler = (items: number[]): number[] => {
      sizes.push(items.length);
      return items;
    };
    const oversize = "alone";
    const batcher = createTokenBatcher(handler, { clock, maxBatchTokens: 100, estimateTokens: itsOwnCost, oversize });
    const answers = batcher.submitMany([60, 40, 500, 1]);
    await clock.settle();
    expect(await answers).toEqual([60, 40, 500, 1]);
    expect(sizes).toEqual([2, 1, 1]);
  });

  test("a count for each item of `submit_batch` is `tokens` as a function of the item", async () => {
    const records = ["a", "b", "c"].map((text, index) => ({ text, tokens: [60, 50, 40][index] as number }));
    const batcher = createTokenBatcher((items: typeof records, { cost }) => items.map(() => cost), {
      clock: virtualClock(),
      maxBatchTokens: 100,
    });
    expect(await batcher.submitMany(records, { tokens: ({ tokens }) => tokens })).toEqual([60, 90, 90]);
  });

  test("tasks that run at once and share a batcher fill its batches together", async () => {
    const clock = virtualClock();
    const handler = puppetHandler<Prompt, string>();
    const batcher = createTokenBatcher(handler, { clock, maxBatchSize: 8 });
    const inferBatch = (task: string): Promise<string[]> =>
      Promise.all(range(4).map((index) => batcher.submit(new Prompt(`${task}${index}`))));
    const answers = Promise.all([inferBatch("a"), inferBatch("b")]);
    await clock.settle();
    expect(handler.batches.map((items) => items.map(({ text }) => text))).toEqual([
      ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"],
    ]);
    handler.calls[0]?.answer(({ text }) => text.toUpperCase());
    expect(await answers).toEqual([
      ["A0", "A1", "A2", "A3"],
      ["B0", "B1", "B2", "B3"],
    ]);
  });

  test("a record that is a list of texts costs its length, and is answered with a list", async () => {
    const embed = (texts: string[]): number[] => texts.map((text) => text.length);
    const clock = virtualClock();
    const calls: string[][] = [];
    const embedGroups = (groups: string[][]): number[][] => {
      const texts = groups.flat();
      calls.push(texts);
      const lengths = embed(texts);
      let start = 0;
      return groups.map((group) => {
        start += group.length;
        return lengths.slice(start - group.length, start);
      });
    };
    const batcher = createBatcher(embedGroups, { clock, cost: (group) => group.length, maxBatchCost: 4 });
    const groups = [["a", "bb"], ["ccc"], ["dddd", "e"]];
    const answers = batcher.submitMany(groups);
    await clock.settle();
    expect(await answers).toEqual([[1, 2], [3], [4, 1]]);
    expect(calls).toEqual([
      ["a", "bb", "ccc"],
      ["dddd", "e"],
    ]);
  });
});

describe("the cost of an item by its own method", () => {
  test("a plain batcher with a finite `maxBatchCost` calls `estimateCost()` where there is no `cost`", async () => {
    const item = (cost: number): object => ({ estimateCost: () => cost });
    const of = rig<object>({ maxBatchCost: 100 });
    const answers = of.batcher.submitMany([item(60), item(40), item(1)]);
    await echoAll(of);
    await answers;
    expect(of.handler.batches.map(({ length }) => length)).toEqual([2, 1]);
  });

  test("texts are estimated: `defaultTokens` is only for items without text", async () => {
    const batcher = createTokenBatcher((items: unknown[], { cost }) => items.map(() => cost), { defaultTokens: 7 });
    expect(await batcher.submit("x".repeat(40))).toBe(10);
    expect(await batcher.submit({ id: 1 })).toBe(7);
  });
});

describe("statistics", () => {
  test("busy and idle time count from the first submit: 30 ms and 10 ms are a utilization of 0.75", async () => {
    const of = rig<string>();
    await of.clock.advance(500);
    const answer = of.batcher.submit("a");
    await of.clock.advance(30);
    await echo(of);
    await answer;
    await of.clock.advance(10);
    expect(of.batcher.stats()).toMatchObject({ busyMs: 30, idleMs: 10, utilization: 0.75 });
  });

  test("after close() the figures stay as they are", async () => {
    const of = rig<string>();
    const answer = of.batcher.submit("a");
    await of.clock.advance(30);
    await echo(of);
    await answer;
    await of.batcher.close();
    const atClose = of.batcher.stats();
    await of.clock.advance(10_000);
    expect(of.batcher.stats()).toEqual(atClose);
  });

  test("averageBatchCost times batches is the total cost", async () => {
    const of = rig<number>({ cost: itsOwnCost, maxBatchCost: 100 });
    const answers = of.batcher.submitMany([60, 40, 99]);
    await echoAll(of);
    await answers;
    const { averageBatchCost, batches } = of.batcher.stats();
    expect(averageBatchCost * batches).toBe(199);
  });
});

describe("life and backpressure", () => {
  test("an error in the body of an `await using` block still lets submitted items end", async () => {
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
