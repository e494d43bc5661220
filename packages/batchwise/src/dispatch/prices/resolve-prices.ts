// Checks a user's price table. Pure.

import { aCost, check, checkIsObject, objectWith, refuseUnknown } from "../../core/contract/validate.ts";
import type { PriceTable } from "../contract/cost.ts";
import { defaultPrices } from "./default-prices.ts";

const aShare = {
  expected: "a number from 0 to 1",
  type: "number",
  test: (value: number) => value >= 0 && value <= 1,
} as const;

export function resolvePrices(prices: PriceTable | undefined): PriceTable {
  checkIsObject("prices", prices);
  if (prices === undefined) return defaultPrices;
  for (const [model, price] of Object.entries(prices)) {
    const place = `prices["${model}"]`;
    check(place, objectWith(), price);
    const { input, cachedInput, output, batchDiscount } = price;
    refuseUnknown(price, ["input", "cachedInput", "output", "batchDiscount"], `${place}.`);
    check(`${place}.input`, aCost, input);
    check(`${place}.output`, aCost, output);
    if (cachedInput !== undefined) check(`${place}.cachedInput`, aCost, cachedInput);
    if (batchDiscount !== undefined) check(`${place}.batchDiscount`, aShare, batchDiscount);
  }
  return Object.freeze({ ...prices });
}
