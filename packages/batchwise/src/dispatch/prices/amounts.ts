// Amounts that stores keep for payers: whole billionths of a US dollar. Pure.

import type { PricedTokens, PriceTable } from "../contract/cost.ts";
import type { PriceFigures } from "../contract/errors.ts";
import type { Settlement } from "../contract/store/outcome-rows.ts";
import type { PayerRow } from "../contract/store/payers.ts";
import { priceOf } from "./price.ts";

const A_DOLLAR = 1_000_000_000;
/** Output that an answer without a limit is expected to have: as its prompt, at least this. */
const LEAST_OUTPUT = 1_000;

/** Rounded up: a reservation is never below its price. */
export function amountOf(dollars: number): number {
  // A custom account may count tokens that are no numbers.
  return Math.max(0, Math.min(Math.ceil(dollars * A_DOLLAR) || 0, Number.MAX_SAFE_INTEGER));
}

/** A limit: `Infinity` stays. */
export function limitOf(dollars: number): number {
  return dollars === Number.POSITIVE_INFINITY ? dollars : amountOf(dollars);
}

export function dollarsOf(amount: number): number {
  return amount / A_DOLLAR;
}

/** In dollars. */
export function figuresOf({ limit, spent, reserved }: PayerRow): PriceFigures {
  return { limit: dollarsOf(limit), spent: dollarsOf(spent), reserved: dollarsOf(reserved) };
}

export function leftOf({ limit, spent, reserved }: PayerRow): number {
  return limit - spent - reserved;
}

/**
 * What a request reserves: its prompt, and the output up to its limit; null for a model without a
 * price. `mostOutput`: null where the body has no limit.
 */
export function reservedFor(
  {
    tokens,
    mostOutput,
    model,
  }: { readonly tokens: number; readonly mostOutput: number | null; readonly model: string },
  prices: PriceTable,
): number | null {
  const outputTokens = mostOutput ?? Math.max(tokens, LEAST_OUTPUT);
  const dollars = priceOf({ inputTokens: tokens, cachedTokens: 0, outputTokens }, model, prices);
  return dollars === null ? null : amountOf(dollars);
}

/** The decision about a member, with what its try cost. */
export function withPrice(item: Settlement, model: string, prices: PriceTable): Settlement {
  const usage: PricedTokens | null = item.usage ?? null;
  const hasRun = usage !== null || (item.kind === "final" && item.status === "succeeded");
  if (!hasRun) return item;
  const dollars = usage === null ? null : priceOf(usage, model, prices);
  return { ...item, price: dollars === null ? "share" : amountOf(dollars) };
}
