// Padding needs the lengths of items. Without them, a warning says so.

import { type BatchOptions, createBatcher } from "batchwise";
import { expect, test } from "vitest";

async function warningsOf(options: BatchOptions<string, number>): Promise<string[]> {
  const warnings: string[] = [];
  const batcher = createBatcher((texts: string[]) => texts.map((text) => text.length), options);
  batcher.on("warning", ({ code, message }) => warnings.push(`${code} ${message}`));
  expect(await batcher.submit("abc")).toBe(3);
  return warnings;
}

test.each([
  [{ order: "length" }, '`order` "length"'],
  [{ batchCost: "padded" }, '`batchCost` "padded"'],
] as const)("%j without `cost` works, with a warning that there are no lengths", async (options, cause) => {
  expect(await warningsOf(options)).toEqual([
    `OPTIONS ${cause} has no lengths to go by: without \`cost\`, each item costs 1. Set \`cost\` to the length of an item.`,
  ]);
});

test.each([{}, { order: "length", cost: (text: string) => text.length }] as const)(
  "%j is no cause for one",
  async (options) => {
    expect(await warningsOf(options)).toEqual([]);
  },
);
