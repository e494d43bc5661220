// The simulation of the engine, with seventy times the worlds of `npm test`.

import { expect, test } from "vitest";
import { runWorld } from "../test/simulation/run-world.ts";

const FIRST = 301;
const LAST = 22_000;

test(`worlds ${FIRST} to ${LAST} keep every promise of the batcher`, async () => {
  const broken: string[] = [];
  for (let seed = FIRST; seed <= LAST; seed += 1) {
    const violations = await runWorld(seed);
    for (const { check, detail } of violations) broken.push(`BATCHWISE_SEED=${seed} ${check}: ${detail}`);
  }
  expect(broken).toEqual([]);
});
