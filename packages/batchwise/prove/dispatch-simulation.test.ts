// The simulation of the dispatcher, with the seeds that follow those of `npm test`.

import { expect, test } from "vitest";
import { NOTHING_WRONG } from "../test/dispatch/support/simulation/nothing-wrong.ts";
import { simulate } from "../test/dispatch/support/simulation/simulation.ts";

const FIRST = 5;
const LAST = 539;

test(`seeds ${FIRST} to ${LAST}: nothing is lost, nothing counts twice and every batch ends`, async () => {
  for (let seed = FIRST; seed <= LAST; seed += 1) {
    const again = `SEED=${seed} npx vitest run packages/batchwise/test/dispatch/simulation.test.ts`;
    expect(await simulate(seed), again).toMatchObject(NOTHING_WRONG);
  }
});

const RUN_DUE = { first: 4, last: 99 };

test(`seeds ${RUN_DUE.first} to ${RUN_DUE.last}, by runs of \`runDue\`: the same holds, and no lease is left over`, async () => {
  for (let seed = RUN_DUE.first; seed <= RUN_DUE.last; seed += 1) {
    const again = `SEED=${seed} npx vitest run packages/batchwise/test/dispatch/doors/due/run-due-simulation.test.ts`;
    const report = await simulate(seed, true);
    expect(report, again).toMatchObject(NOTHING_WRONG);
    expect(report.leftOver ?? 0, again).toBe(0);
  }
});
