// The promise of a limit of price, over a few seeds; prove/max-price.test.ts has the others.

import { test } from "vitest";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { simulatePrice } from "../support/simulation/sim-price.ts";

test.each([4, 12])("holds in memory, seed %i", async (seed) => {
  await simulatePrice(seed, memoryStore());
});
