// The simulation of the dispatcher, with the seeds that follow those of `npm test`.

import { expect, test } from "vitest";
import { NOTHING_WRONG } from "../test/dispatch/support/nothing-wrong.ts";
import { simulate } from "../test/dispatch/support/simulation.ts";

const FIRST = 40;
const LAST = 539;

test(`seeds ${FIRST} to ${LAST}: nothing is lost, nothing counts twice and every batch ends`, async () => {
  for (let seed = FIRST; seed <= LAST; seed += 1) {
    const again = `SEED=${seed} npx vitest run packages/batchwise/test/dispatch/simulation.test.ts`;
    expect(await simulate(seed), again).toMatchObject(NOTHING_WRONG);
  }
});
