import { expect, test } from "vitest";
import { payerName } from "../../../src/dispatch/format/encode.ts";
import { readPriceLimits } from "../../../src/dispatch/prices/read-price-limits.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";

test("limits are read by name, in dollars, each once; one that never was is left out, a lifted one is Infinity", async () => {
  const store = memoryStore();
  const changes = [
    { name: payerName("job", "night"), limit: 5_000_000_000, spent: 1_500_000_000 },
    { name: payerName("tenant", "night"), limit: Number.POSITIVE_INFINITY, spent: 1 },
  ];
  await store.payers(changes, []);
  const many = Array.from({ length: 1_500 }, (_, n) => `t${n}`);
  expect(await readPriceLimits(store, { jobs: ["none", "night", "night"], tenants: [...many, "night"] })).toEqual([
    { kind: "job", name: "night", limit: 5, spent: 1.5, reserved: 0 },
    { kind: "tenant", name: "night", limit: Number.POSITIVE_INFINITY, spent: 1e-9, reserved: 0 },
  ]);
  expect(await readPriceLimits(store, {})).toEqual([]);
});

test("names that are not an array of strings are refused", async () => {
  const read = (query: object): Promise<unknown> => readPriceLimits(memoryStore(), query);
  await expect(read({ jobs: "night" })).rejects.toThrow("Expected `jobs` to be an array, got");
  await expect(read({ tenants: [1] })).rejects.toThrow("tenants");
  await expect(read({ job: "night" })).rejects.toThrow("job");
});
