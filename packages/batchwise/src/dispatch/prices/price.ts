// Prices of tokens. A price covers one try: earlier tries without an answer have no usage. Pure.

import type { ModelPrice, PricedTokens, PriceTable } from "../contract/cost.ts";

const A_MILLION = 1_000_000;
const BATCH_DISCOUNT = 0.5;
/**
 * A snapshot's date, as OpenAI and Anthropic append it to a model's name, and Vertex AI to
 * Claude's.
 */
const SNAPSHOT = /(-(\d{4}-\d{2}-\d{2}|\d{8})|@(\d{8}|default))$/;
/** Prefixes of Gemini and Claude names in Google's APIs. */
const PUBLISHER = /^(models\/|(publishers\/)?(google|anthropic)\/(models\/)?)/;

/**
 * US dollars for these tokens in a batch; null for a model that is not in the table. A snapshot
 * without an entry (`gpt-4o-mini-2024-07-18`) costs the same as its model, and so does a name with
 * its publisher at Google (`models/gemini-2.5-flash`, `google/gemini-2.5-flash`).
 *
 * @example
 * ```ts
 * import { defaultPrices, priceOf } from "batchwise/dispatch";
 * const usage = { inputTokens: 1_000_000, cachedTokens: 0, outputTokens: 100_000 };
 * console.log(priceOf(usage, "gpt-4o-mini", defaultPrices)); // 0.105
 * console.log(priceOf(usage, "my-model", { ...defaultPrices, "my-model": { input: 1, output: 2 } })); // 0.6
 * ```
 */
export function priceOf(usage: PricedTokens, model: string, prices: PriceTable): number | null {
  const price = findPrice(model, prices);
  if (price === null) return null;
  const { input, cachedInput = input, output, batchDiscount = BATCH_DISCOUNT } = price;
  const { inputTokens, cachedTokens, outputTokens } = usage;
  const full = (inputTokens - cachedTokens) * input + cachedTokens * cachedInput + outputTokens * output;
  return (full * (1 - batchDiscount)) / A_MILLION;
}

function findPrice(model: string, prices: PriceTable): ModelPrice | null {
  const own = (name: string): ModelPrice | null => (Object.hasOwn(prices, name) ? (prices[name] ?? null) : null);
  const plain = model.replace(PUBLISHER, "");
  return own(model) ?? own(plain) ?? own(plain.replace(SNAPSHOT, ""));
}
