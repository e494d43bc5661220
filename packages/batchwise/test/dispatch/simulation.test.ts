// The main test of the dispatcher: random faults, crashes, sleeps and differing clocks, with a seed
// per run. A failing seed is reported with the command that runs only it: SEED is that seed. SEEDS
// is the number of seeds to run, from the first on.

import { expect, test } from "vitest";
import { NOTHING_WRONG } from "./support/simulation/nothing-wrong.ts";
import { simulate } from "./support/simulation/simulation.ts";

const only = process.env.SEED;
/**
 * A second each; `npm run prove -- dispatch-simulation` runs the next 500. Run some thousands after
 * a change of the protocol: `SEEDS=5000`.
 */
const RUNS = Number(process.env.SEEDS ?? 5);
const A_TEST = 5;

const starts =
  only === undefined ? Array.from({ length: Math.ceil(RUNS / A_TEST) }, (_, index) => index * A_TEST) : [Number(only)];

test.each(starts)("nothing is lost, nothing counts twice and every batch ends, from seed %i on", async (start) => {
  for (let seed = start; seed < (only === undefined ? start + A_TEST : start + 1); seed += 1) {
    const again = `SEED=${seed} npx vitest run packages/batchwise/test/dispatch/simulation.test.ts`;
    const report = await simulate(seed);
    if (only !== undefined) console.log(report);
    expect(report, again).toMatchObject(NOTHING_WRONG);
    expect(report.leftOver ?? 0, again).toBe(0);
  }
});
