import {
  createBatcher,
  createTokenBatcher,
  estimateTokens,
  type ResolvedTokenOptions,
  type TokenBatcherOptions,
} from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range, reasonOf, thrownBy } from "../support.ts";

type Options = TokenBatcherOptions<unknown, unknown>;

const itself = (item: number): number => item;

function optionsOf(options?: Options): ResolvedTokenOptions {
  return createTokenBatcher((items: unknown[]) => items, options).options;
}

/** A batcher of items that are their own number of tokens; it answers each item with itself. */
function ofNumbers(options: TokenBatcherOptions<number, number> = {}) {
  return createTokenBatcher((items: number[]) => items, { clock: virtualClock(), estimateTokens: itself, ...options });
}

/** A batcher that answers each item with the tokens of its batch. */
function tokensOfBatch(options: Options = {}) {
  const answer = (items: unknown[], { cost }: { cost: number }): number[] => items.map(() => cost);
  return createTokenBatcher(answer, { clock: virtualClock(), ...options } as TokenBatcherOptions<unknown, number>);
}

async function batchesOf(items: readonly unknown[], options: Options): Promise<readonly (readonly unknown[])[]> {
  const clock = virtualClock();
  const handler = puppetHandler<unknown, unknown>();
  const batcher = createTokenBatcher(handler, { clock, ...options });
  const results = batcher.submitMany(items);
  for (;;) {
    await clock.settle();
    if (handler.open.length === 0) break;
    for (const call of handler.open) call.answer((item) => item);
  }
  await results;
  return handler.batches;
}

describe("createTokenBatcher()", () => {
  test("has its own defaults: 32,000 tokens, 256 items", () => {
    expect(optionsOf()).toMatchObject({ maxBatchSize: 256, maxBatchCost: 32_000 });
    expect(optionsOf({ maxBatchSize: undefined, maxBatchTokens: undefined })).toMatchObject({
      maxBatchSize: 256,
      maxBatchCost: 32_000,
    });
  });

  test("takes every other option of a batcher", () => {
    expect(optionsOf({ maxBatchSize: 8, maxBatchTokens: 100, concurrency: 3, maxWaitMs: 5 })).toMatchObject({
      maxBatchSize: 8,
      maxBatchCost: 100,
      concurrency: 3,
      maxWaitMs: 5,
    });
  });

  test("closes a batch at its tokens", async () => {
    const estimate = (item: unknown): number => item as number;
    expect(await batchesOf([40, 40, 30, 60, 10], { maxBatchTokens: 100, estimateTokens: estimate })).toEqual([
      [40, 40],
      [30, 60, 10],
    ]);
  });

  test("estimates texts and chat bodies by itself", async () => {
    const text = "word ".repeat(20);
    const body = { messages: [{ role: "user", content: text }] };
    const cap = 2 * estimateTokens(text) + estimateTokens(body);
    expect(await batchesOf([text, text, body, text], { maxBatchTokens: cap })).toEqual([[text, text, body], [text]]);
  });

  test("calls the token count of an item that has one", async () => {
    const item = (tokens: number): object => ({ tokens, estimateTokens: () => tokens });
    const items = [item(60), item(50), item(40)];
    expect((await batchesOf(items, { maxBatchTokens: 100 })).map(({ length }) => length)).toEqual([1, 2]);
  });

  test("counts an item without text as `defaultTokens`, one unless set", async () => {
    expect((await batchesOf(range(10), { maxBatchTokens: 4 })).map(({ length }) => length)).toEqual([4, 4, 2]);
    const five = await batchesOf(range(4), { maxBatchTokens: 10, defaultTokens: 5 });
    expect(five.map(({ length }) => length)).toEqual([2, 2]);
  });

  test("calls an item's own cost where it has no tokens of its own", async () => {
    expect(await tokensOfBatch().submit({ estimateCost: () => 9 })).toBe(9);
    expect(await tokensOfBatch().submit({ estimateTokens: () => 7, estimateCost: () => 9 })).toBe(7);
    expect(await tokensOfBatch({ estimateTokens: () => 5 }).submit({ estimateTokens: () => 7 })).toBe(5);
  });

  test("rejects only an item whose count is no number, and names the function that counted", async () => {
    const wrong = Number.NaN;
    const own = { estimateTokens: () => wrong };
    const cost = { estimateCost: () => wrong };
    const message = (name: string): string => `Expected \`${name}\` to be a finite number >= 0, got \`NaN\` (number)`;
    for (const [item, name, options] of [
      ["a", "estimateTokens", { estimateTokens: () => wrong }],
      [own, "item.estimateTokens()", {}],
      [cost, "item.estimateCost()", {}],
    ] as const) {
      const batcher = tokensOfBatch(options);
      const error = await reasonOf(batcher.submit(item));
      expect(error).toMatchObject({ name: "RangeError", code: "INVALID_OPTION", message: message(name) });
      expect(batcher.stats()).toMatchObject({ submitted: 1, failed: 1 });
    }
  });

  test("refuses a count that is a promise, and causes no unhandled rejection", async () => {
    const estimate = (() => Promise.reject(new Error("too late"))) as unknown as () => number;
    const error = await reasonOf(tokensOfBatch({ estimateTokens: estimate }).submit("a"));
    expect(error).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining("`estimateTokens`") });
  });

  test("is a batcher: it has every member of one", () => {
    const members = (batcher: object): string[] => {
      const names = new Set<string>();
      for (let at = batcher; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
        for (const name of Reflect.ownKeys(at)) names.add(String(name));
      }
      return [...names].sort();
    };
    expect(members(ofNumbers())).toEqual(members(createBatcher((items: number[]) => items)));
  });

  test('runs an item over the cap alone with `oversize: "alone"`', async () => {
    expect(
      await batchesOf([5, 40, 5], { maxBatchTokens: 10, estimateTokens: itself as never, oversize: "alone" }),
    ).toEqual([[5], [40], [5]]);
  });

  test("reports tokens wherever a batcher reports a cost", async () => {
    const clock = virtualClock();
    const handler = puppetHandler<number, number>();
    const batcher = createTokenBatcher(handler, { clock, estimateTokens: itself });
    const costs: number[] = [];
    batcher.on("batch", ({ cost }) => costs.push(cost));
    const answers = batcher.submitMany([30, 12]);
    await clock.settle();
    expect(batcher.inspect()).toMatchObject([{ size: 2, cost: 42 }]);
    handler.calls[0]?.answer(itself);
    await answers;
    await clock.settle();
    expect([costs, batcher.stats().averageBatchCost]).toEqual([[42], 42]);
  });

  test("makes each batcher apart: two never share their options", () => {
    const small = ofNumbers({ maxBatchTokens: 10 });
    const large = ofNumbers({ maxBatchTokens: 20 });
    expect([small.options.maxBatchTokens, large.options.maxBatchTokens]).toEqual([10, 20]);
  });

  test.each<[options: object, message: string]>([
    [{ maxBatchTokens: 0 }, 'Expected `maxBatchTokens` to be a number > 0 or "learn", got `0` (number)'],
    [{ maxBatchTokens: "many" }, "`maxBatchTokens`"],
    [{ maxBatchTokens: null }, "`maxBatchTokens`"],
    [{ defaultTokens: -1 }, "`defaultTokens`"],
    [{ estimateTokens: 4 }, "`estimateTokens`"],
    [{ maxBatchToken: 5 }, "did you mean `maxBatchTokens`?"],
    [{ estimateToken: 5 }, "did you mean `estimateTokens`?"],
    [{ maxBatchCost: 5 }, "Unknown option `maxBatchCost`: it is `maxBatchTokens` here"],
    [{ cost: () => 1 }, "Unknown option `cost`: it is `estimateTokens` here"],
    [{ minBatchSize: 1 }, "Unknown option `minBatchSize`: it is `preferredBatchSize` here"],
    [{ maxBatchSize: 0 }, "`maxBatchSize`"],
    [{ maxBatchSize: null }, "`maxBatchSize`"],
    [[], "Expected `options` to be an object"],
  ])("refuses %j", (options, message) => {
    const error = thrownBy(() => optionsOf(options as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(message);
  });
});

describe("a token batcher that learns its cap", () => {
  test("refuses nothing as too large, and reports the learned size", async () => {
    const batcher = ofNumbers({ maxBatchTokens: "learn" });
    expect(batcher.options).toMatchObject({ maxBatchTokens: "learn", maxBatchCost: "learn", maxBatchSize: 1_024 });
    expect(await batcher.submit(1_000_000)).toBe(1_000_000);
    expect(await batcher.submit(0, { tokens: 1_000_000 })).toBe(0);
    expect(batcher.stats().learned).toMatchObject({ state: "learning" });
  });

  test("takes a fixed one by `configure`, and learns again", async () => {
    const batcher = ofNumbers({ maxBatchTokens: "learn" });
    batcher.configure({ maxBatchTokens: 10 });
    expect(await reasonOf(batcher.submit(20))).toMatchObject({ code: "ITEM_TOO_LARGE" });
    batcher.configure({ maxBatchTokens: "learn" });
    expect(await batcher.submit(20)).toBe(20);
  });
});

describe("`options` of a token batcher", () => {
  test("show the token words, and the same cap for code that takes any batcher", () => {
    const options = optionsOf({ maxBatchTokens: 100, defaultTokens: 3 });
    expect(options).toMatchObject({ maxBatchTokens: 100, maxBatchCost: 100, defaultTokens: 3, concurrency: 1 });
    expect(Object.isFrozen(options)).toBe(true);
  });

  test("are the same object until `configure` changes them", () => {
    const batcher = ofNumbers();
    const { options } = batcher;
    expect(batcher.options).toBe(options);
    batcher.configure({ maxBatchTokens: 7 });
    expect([options.maxBatchTokens, batcher.options.maxBatchTokens]).toEqual([32_000, 7]);
  });
});

describe("`configure` of a token batcher", () => {
  test("changes the cap that the next batch keeps", async () => {
    const clock = virtualClock();
    const handler = puppetHandler<number, number>();
    const batcher = createTokenBatcher(handler, { clock, estimateTokens: itself, maxBatchTokens: 30 });
    const answers = batcher.submitMany([20, 20, 20]);
    await clock.settle();
    batcher.configure({ maxBatchTokens: 40 });
    handler.calls[0]?.answer(itself);
    await clock.settle();
    expect(handler.batches).toEqual([[20], [20, 20]]);
    handler.calls[1]?.answer(itself);
    expect(await answers).toEqual([20, 20, 20]);
  });

  test("sets the limit of too large items from then on", async () => {
    const batcher = ofNumbers({ maxBatchTokens: 30 });
    batcher.configure({ maxBatchTokens: 10 });
    expect(await reasonOf(batcher.submit(20))).toMatchObject({ code: "ITEM_TOO_LARGE" });
    batcher.configure({ maxBatchTokens: 20 });
    expect(await batcher.submit(20)).toBe(20);
  });

  test("changes the other limits, and keeps the cap where it is not given", () => {
    const batcher = ofNumbers({ maxBatchTokens: 30 });
    batcher.configure({ maxBatchSize: 4, maxBatchTokens: undefined });
    expect(batcher.options).toMatchObject({ maxBatchSize: 4, maxBatchTokens: 30 });
  });

  test.each<[changes: object, message: string]>([
    [{ maxBatchTokens: 0 }, "`maxBatchTokens`"],
    [{ maxBatchCost: 5 }, "Unknown option `maxBatchCost`: it is `maxBatchTokens` here"],
    [{ maxBatchToken: 5 }, "did you mean `maxBatchTokens`?"],
    [{ maxBatchTokens: 5, concurrency: 0 }, "`concurrency`"],
  ])("changes nothing and throws for %j", (changes, message) => {
    const batcher = ofNumbers({ maxBatchTokens: 30 });
    const error = thrownBy(() => batcher.configure(changes as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(message);
    expect(batcher.options.maxBatchTokens).toBe(30);
  });
});
