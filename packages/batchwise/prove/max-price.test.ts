// The promise of a limit of price, over the seeds beside those of `npm test`, and in SQLite.

import { sqliteStore } from "batchwise/dispatch/sqlite";
import { test } from "vitest";
import { memoryStore } from "../src/dispatch/stores/memory/memory-store.ts";
import { simulatePrice } from "../test/dispatch/support/simulation/sim-price.ts";

test.each(Array.from({ length: 40 }, (_, n) => n + 1))("holds in memory, seed %i", async (seed) => {
  await simulatePrice(seed, memoryStore());
});

test.each([101, 102, 103, 104])("holds in SQLite, seed %i", async (seed) => {
  const store = sqliteStore({ path: ":memory:" });
  await simulatePrice(seed, store);
  await store.close();
});
