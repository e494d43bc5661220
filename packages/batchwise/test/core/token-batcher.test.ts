import { createTokenBatcher, estimateTokens, type TokenBatcherOptions } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range, reasonOf, thrownBy } from "../support.ts";

type Options = TokenBatcherOptions<unknown, unknown>;

function optionsOf(options?: Options): { maxBatchSize: number; maxBatchCost: number } {
  return createTokenBatcher((items: unknown[]) => items, options).options;
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

  test("asks an item that knows its own tokens", async () => {
    const item = (tokens: number): object => ({ tokens, estimateTokens: () => tokens });
    const items = [item(60), item(50), item(40)];
    expect((await batchesOf(items, { maxBatchTokens: 100 })).map(({ length }) => length)).toEqual([1, 2]);
  });

  test("counts an item without text as `defaultTokens`, one unless set", async () => {
    expect((await batchesOf(range(10), { maxBatchTokens: 4 })).map(({ length }) => length)).toEqual([4, 4, 2]);
    const five = await batchesOf(range(4), { maxBatchTokens: 10, defaultTokens: 5 });
    expect(five.map(({ length }) => length)).toEqual([2, 2]);
  });

  test("takes an exact count from a submit, as its cost", async () => {
    const batcher = createTokenBatcher((texts: string[], { cost }) => texts.map(() => cost));
    expect(await batcher.submit("whatever", { cost: 1_234 })).toBe(1_234);
  });

  test("refuses what is over the cap by itself", async () => {
    const batcher = createTokenBatcher((texts: string[]) => texts, { maxBatchTokens: 10 });
    expect(await reasonOf(batcher.submit("a".repeat(1_000)))).toMatchObject({ code: "ITEM_TOO_LARGE" });
  });

  test.each<[options: object, message: string]>([
    [{ maxBatchTokens: 0 }, "`maxBatchTokens`"],
    [{ maxBatchTokens: "many" }, "`maxBatchTokens`"],
    [{ defaultTokens: -1 }, "`defaultTokens`"],
    [{ estimateTokens: 4 }, "`estimateTokens`"],
    [{ maxBatchToken: 5 }, "did you mean `maxBatchTokens`?"],
    [{ maxBatchCost: 5 }, "Unknown option `maxBatchCost`"],
    [{ cost: () => 1 }, "Unknown option `cost`"],
    [{ maxBatchSize: 0 }, "`maxBatchSize`"],
  ])("refuses %j", (options, message) => {
    const error = thrownBy(() => optionsOf(options as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(message);
  });
});
