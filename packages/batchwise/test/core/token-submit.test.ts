// Options of a submit to a token batcher, and items with too many tokens.

import { createTokenBatcher, type TokenBatcherOptions } from "batchwise";
import { puppetHandler, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { range, reasonOf } from "../support.ts";

type Options = TokenBatcherOptions<unknown, unknown>;

const itself = (item: number): number => item;

/** A batcher of items that are their own number of tokens; it answers each item with itself. */
function ofNumbers(options: TokenBatcherOptions<number, number> = {}) {
  return createTokenBatcher((items: number[]) => items, { clock: virtualClock(), estimateTokens: itself, ...options });
}

/** A batcher that answers each item with the tokens of its batch. */
function tokensOfBatch(options: Options = {}) {
  const answer = (items: unknown[], { cost }: { cost: number }): number[] => items.map(() => cost);
  return createTokenBatcher(answer, { clock: virtualClock(), ...options } as TokenBatcherOptions<unknown, number>);
}

describe("`tokens` of a submit", () => {
  test("are the item's tokens, whatever an estimate would say", async () => {
    expect(await tokensOfBatch().submit("whatever", { tokens: 1_234 })).toBe(1_234);
    expect(await tokensOfBatch({ estimateTokens: () => 5 }).submit("whatever", { tokens: 0 })).toBe(0);
    expect(await tokensOfBatch().submit("12345678", { tokens: undefined })).toBe(2);
  });

  test("are each item's tokens in `submitMany` and `submitSettled`", async () => {
    expect(await tokensOfBatch().submitMany(["a", "b"], { tokens: 50 })).toEqual([100, 100]);
    const settled = await tokensOfBatch().submitSettled(["a", "b"], { tokens: 30 });
    expect(settled).toEqual(range(2).map(() => ({ status: "fulfilled", value: 60 })));
  });

  test("may be a function of the item in `submitMany` and `submitSettled`, and so may `priority`", async () => {
    const clock = virtualClock();
    const handler = puppetHandler<number, number>();
    const batcher = createTokenBatcher(handler, { clock, maxBatchTokens: 100 });
    batcher.pause();
    const answers = batcher.submitSettled([60, 40, 10], { tokens: itself, priority: (item) => -item });
    const settled = batcher.submitSettled([200, -1, 90], { tokens: itself });
    batcher.resume();
    for (;;) {
      await clock.settle();
      if (handler.open.length === 0) break;
      for (const call of handler.open) call.answer(itself);
    }
    expect(await answers).toMatchObject([{ value: 60 }, { value: 40 }, { value: 10 }]);
    expect(await settled).toMatchObject([
      { status: "rejected", reason: { code: "ITEM_TOO_LARGE", message: expect.stringContaining("200 tokens") } },
      { status: "rejected", reason: { code: "INVALID_OPTION", message: expect.stringContaining("`tokens`") } },
      { status: "fulfilled", value: 90 },
    ]);
    expect(handler.batches).toEqual([
      [90, 10],
      [40, 60],
    ]);
  });

  test("of `map` are compared with the limit at each item, also after `configure`", async () => {
    const batcher = tokensOfBatch({ maxBatchTokens: 40 });
    const settled = batcher.map([1, 2], { tokens: 50, settled: true });
    batcher.configure({ maxBatchTokens: 100 });
    expect([await settled.next(), await settled.next()]).toMatchObject([
      { value: { status: "fulfilled" } },
      { value: { status: "fulfilled" } },
    ]);
  });

  test("do not change any other submit option", async () => {
    const clock = virtualClock();
    const handler = puppetHandler<string>();
    const batcher = createTokenBatcher(handler, { clock, captureContext: () => "captured" });
    const leave = new AbortController();
    const gone = reasonOf(batcher.submit("gone", { tokens: 1, signal: leave.signal }));
    leave.abort(new Error("left"));
    void batcher.submit("a", { tokens: 2, priority: 4, key: "k", context: "given" }).catch(() => {});
    const late = reasonOf(batcher.submit("late", { tokens: 1, timeoutMs: 5, key: "other" }));
    await clock.settle();
    expect(handler.calls[0]?.context).toMatchObject({ key: "k", requests: [{ priority: 4, context: "given" }] });
    await clock.advance(5);
    expect(await Promise.all([gone, late])).toMatchObject([{ message: "left" }, { code: "DEADLINE_EXCEEDED" }]);
  });

  test("are read once, also where a getter gives them", async () => {
    let reads = 0;
    const options = {
      get tokens(): number {
        reads += 1;
        return 3;
      },
    };
    expect(await tokensOfBatch().submit("a", options)).toBe(3);
    expect(reads).toBe(1);
  });

  test.each<[options: unknown, message: string]>([
    [{ tokens: -1 }, "Expected `tokens` to be a finite number >= 0, got `-1` (number)"],
    [{ tokens: "3" }, "`tokens`"],
    [{ tokens: () => 1 }, "`tokens`"],
    [{ cost: 3 }, "Unknown option `cost`: it is `tokens` here: the tokens of the item"],
    [{ token: 3 }, "Unknown option `token`, did you mean `tokens`?"],
    [{ tokens: 3, priority: "high" }, "`priority`"],
    [{ timeout: 3 }, "it is `timeoutMs` here"],
    [7, "`options`"],
    [null, "`options`"],
  ])("reject only that submit when they are %j", async (options, message) => {
    const batcher = tokensOfBatch();
    const other = batcher.submit("abcd");
    const error = await reasonOf(batcher.submit("a", options as never));
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
    expect(String(error)).toContain(message);
    expect(await other).toBe(1);
    expect(batcher.stats()).toMatchObject({ submitted: 2, failed: 1, completed: 1 });
  });

  test("that throw when they are read reject only that submit", async () => {
    const options = {
      get tokens(): number {
        throw new Error("unreadable");
      },
    };
    const batcher = tokensOfBatch();
    expect(await batcher.submitSettled(["a", "b"], options)).toEqual(
      range(2).map(() => ({ status: "rejected", reason: new Error("unreadable") })),
    );
    expect(batcher.stats()).toMatchObject({ submitted: 2, failed: 2 });
  });

  test("that are wrong are not looked at once the batcher has closed", async () => {
    const batcher = tokensOfBatch();
    await batcher.close();
    expect(await reasonOf(batcher.submit("a", { tokens: -1 }))).toMatchObject({ code: "CLOSED" });
  });
});

describe("an item over the cap", () => {
  const message =
    'The item has 40000 tokens, more than a whole batch may (maxBatchTokens 32000). Split it, or set oversize to "alone".';
  const error = { name: "BatchwiseError", code: "ITEM_TOO_LARGE", retryable: false, message };

  test("is refused in token words, and counted as rejected, where an estimate says so", async () => {
    const batcher = ofNumbers();
    expect(await reasonOf(batcher.submit(40_000))).toMatchObject(error);
    expect(await batcher.submitSettled([1, 40_000])).toMatchObject([{ value: 1 }, { reason: error }]);
    expect(batcher.stats()).toMatchObject({ submitted: 3, rejected: 2, completed: 1, failed: 0 });
  });

  test("is refused in token words where the submit says so", async () => {
    const batcher = tokensOfBatch();
    expect(await reasonOf(batcher.submit("a", { tokens: 40_000 }))).toMatchObject(error);
    expect(await batcher.submitSettled(["a"], { tokens: 40_000 })).toMatchObject([{ reason: error }]);
    expect(batcher.stats()).toMatchObject({ submitted: 2, rejected: 2 });
  });

  test("is refused in token words where a function of `batchCost` measures it", async () => {
    const batcher = ofNumbers({ maxBatchTokens: 10, batchCost: (items) => items.length * 20 });
    const refusal = { code: "ITEM_TOO_LARGE", message: message.replace("40000", "20").replace("32000", "10") };
    expect(await reasonOf(batcher.submit(1))).toMatchObject(refusal);
  });

  test("is refused in token words where `configure` lowers the cap while the item is prepared", async () => {
    const handler = { prepareItem: async (item: number) => item, run: (items: number[]) => items };
    const batcher = createTokenBatcher(handler, { maxBatchTokens: 100 });
    const answer = batcher.submit(1, { tokens: 50 });
    batcher.configure({ maxBatchTokens: 10 });
    const refusal = { code: "ITEM_TOO_LARGE", message: message.replace("40000", "50").replace("32000", "10") };
    expect(await reasonOf(answer)).toMatchObject(refusal);
  });

  test("is its caller's own business when the caller has left before", async () => {
    const signal = AbortSignal.abort(new Error("left"));
    const batcher = tokensOfBatch();
    expect(await reasonOf(batcher.submit("a", { tokens: 40_000, signal }))).toEqual(new Error("left"));
    expect(batcher.stats()).toMatchObject({ cancelled: 1, rejected: 0 });
  });

  test("is one whose padded batch of itself is, with `batchCost`", async () => {
    const padded = ofNumbers({ maxBatchTokens: 10, batchCost: "padded" });
    expect(await reasonOf(padded.submit(11))).toMatchObject({ message: expect.stringContaining("11 tokens") });
    const halved = ofNumbers({ maxBatchTokens: 10, batchCost: (items) => Math.max(...items) / 2 });
    expect(await halved.submit(11)).toBe(11);
  });
});
