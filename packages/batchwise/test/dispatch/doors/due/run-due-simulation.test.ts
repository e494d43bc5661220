// The fault simulation once more, with processes in which no loop stays: cron calls `runDue`, runs
// overlap, are aborted and killed. A failing seed is named with the command that runs it alone.

import { expect, test } from "vitest";
import { simulate } from "../../support/simulation/simulation.ts";

const only = process.env.SEED;
/** `npm run prove -- dispatch-simulation` has the next ones. */
const RUNS = Number(process.env.SEEDS ?? 4);
const A_TEST = 2;

const starts =
  only === undefined ? Array.from({ length: Math.ceil(RUNS / A_TEST) }, (_, index) => index * A_TEST) : [Number(only)];

test.each(starts)(
  "by runs only nothing is lost, nothing counts twice and every batch ends, from seed %i on",
  async (start) => {
    for (let seed = start; seed < (only === undefined ? start + A_TEST : start + 1); seed += 1) {
      const again = `SEED=${seed} npx vitest run packages/batchwise/test/dispatch/doors/due/run-due-simulation.test.ts`;
      const report = await simulate(seed, true);
      if (only !== undefined) console.log(report);
      expect(report, again).toMatchObject({
        lost: [],
        repeatedOutcomes: [],
        wrong: [],
        ranTwice: [],
        sentLate: [],
        expiredNeedlessly: [],
        blamed: [],
        notDelivered: [],
        unendedBatches: [],
        sentWhilePaused: [],
        wronglyPruned: [],
      });
      expect(report.leftOver ?? 0, again).toBe(0);
    }
  },
);
