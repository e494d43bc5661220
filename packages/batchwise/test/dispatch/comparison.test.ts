// The same fault schedule against this dispatcher and one built the usual way (pop, create, then
// save).

import { expect, test } from "vitest";
import { type FailureStreak, tallyOurs, tallyUsual } from "./support/comparison.ts";

const SEEDS = 16;

async function total(streak: (seed: number) => Promise<FailureStreak>): Promise<FailureStreak> {
  let sum: FailureStreak = { lost: 0, duplicated: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const { lost, duplicated } = await streak(seed);
    sum = { lost: sum.lost + lost, duplicated: sum.duplicated + duplicated };
  }
  return sum;
}

test("pop, create, save loses and repeats requests under faults that cost this dispatcher none", async () => {
  const ours = await total(tallyOurs);
  const usual = await total(tallyUsual);
  console.log(`of ${SEEDS * 60} requests: batchwise ${text(ours)}; pop, create, save ${text(usual)}`);
  expect(ours).toEqual({ lost: 0, duplicated: 0 });
  expect(usual.lost).toBeGreaterThan(100);
  expect(usual.duplicated).toBeGreaterThan(5);
});

const text = ({ lost, duplicated }: FailureStreak): string => `${lost} lost, ${duplicated} ran twice`;
