// Table: prices of tokens, and valid price tables.

import { describe, expect, test } from "vitest";
import type { PriceTable } from "../../../src/dispatch/contract/cost.ts";
import { defaultPrices } from "../../../src/dispatch/prices/default-prices.ts";
import { priceOf } from "../../../src/dispatch/prices/price.ts";
import { resolvePrices } from "../../../src/dispatch/prices/resolve-prices.ts";
import { mostOutputOf } from "../../../src/dispatch/requests/estimate/output-limit.ts";

const prices: PriceTable = {
  plain: { input: 2, output: 10 },
  cheap: { input: 2, cachedInput: 0.5, output: 10 },
  "cheap-2026-01-02": { input: 4, output: 10 },
  free: { input: 2, output: 10, batchDiscount: 1 },
  full: { input: 2, output: 10, batchDiscount: 0 },
};

describe("a million tokens of input, 400,000 of them cached, and 100,000 of output", () => {
  const usage = { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 };
  test.each([
    ["plain", 1.5],
    ["cheap", (1.2 + 0.2 + 1) / 2],
    ["cheap-2025-12-31", (1.2 + 0.2 + 1) / 2],
    ["cheap-20251231", (1.2 + 0.2 + 1) / 2],
    ["cheap-2026-01-02", 2.5],
    ["free", 0],
    ["full", 3],
    ["models/plain", 1.5],
    ["publishers/google/models/plain", 1.5],
    ["anthropic/cheap@20251231", (1.2 + 0.2 + 1) / 2],
    ["cheap@default", (1.2 + 0.2 + 1) / 2],
    ["meta/plain", null],
    ["plain-mini", null],
    ["toString", null],
  ])("cost at the model %s %s dollars", (model, dollars) => {
    const price = priceOf(usage, model, prices);
    if (dollars === null) expect(price).toBeNull();
    else expect(price).toBeCloseTo(dollars, 9);
  });
});

test("every default price is one that the option takes, and cached input never costs more", () => {
  expect(resolvePrices(undefined)).toBe(defaultPrices);
  expect(resolvePrices({ ...defaultPrices })).toEqual(defaultPrices);
  for (const { input, cachedInput = input, output } of Object.values(defaultPrices)) {
    expect(cachedInput).toBeLessThanOrEqual(input);
    expect(output === 0 || output >= input).toBe(true);
  }
});

test("tokens that Gemini reads from a cache cost the list price in a batch, not half of it", () => {
  const usage = { inputTokens: 1_000_000, cachedTokens: 1_000_000, outputTokens: 0 };
  expect(priceOf(usage, "gemini-2.5-flash", defaultPrices)).toBeCloseTo(0.03, 9);
});

describe("a table of prices is refused", () => {
  test.each([
    ["that is a list", [], "Expected `prices` to be"],
    ["with a number for a price", { m: 1 }, 'Expected `prices["m"]` to be'],
    ["without an output price", { m: { input: 1 } }, 'Expected `prices["m"].output` to be a finite number >= 0'],
    ["with a price below nothing", { m: { input: -1, output: 1 } }, 'Expected `prices["m"].input` to be'],
    ["with half a cent as text", { m: { input: "0.005", output: 1 } }, 'Expected `prices["m"].input` to be'],
    ["with a discount in percent", { m: { input: 1, output: 1, batchDiscount: 50 } }, "a number from 0 to 1"],
    ["with a slip", { m: { input: 1, output: 1, cached: 1 } }, 'Unknown option `prices["m"].cached`'],
  ])("%s", (_name, table, words) => {
    expect(() => resolvePrices(table as never)).toThrow(words);
  });
});

describe("the most that a body lets a model write", () => {
  test.each([
    [{ max_completion_tokens: 10, max_tokens: 20 }, 10],
    [{ max_tokens: 20, n: 3 }, 60],
    [{ max_output_tokens: 5 }, 5],
    [{ max_tokens: null }, null],
    [{}, null],
  ])("%o: %s tokens", (body, tokens) => {
    expect(mostOutputOf("/v1/chat/completions", body)).toBe(tokens);
  });

  test("of embeddings is nothing", () => {
    expect(mostOutputOf("/v1/embeddings", { input: "a" })).toBe(0);
  });
});
