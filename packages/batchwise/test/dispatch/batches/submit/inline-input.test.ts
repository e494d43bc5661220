// `maxInlineBytes` of an account changes while one of its batches is being sent, and the process
// starts again: the batch goes on as it began.

import { expect, test } from "vitest";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { type Fate, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../../support/world.ts";

const MINUTE = 60_000;
const DOWN: Failure = { kind: "definitelyNotCreated", code: "ECONNREFUSED", message: "Refused." };
const CASES = [
  ["lowered to 0", Number.POSITIVE_INFINITY, 0, 0],
  ["raised from 0", 0, Number.POSITIVE_INFINITY, 1],
] as const;

/**
 * A process that dies during a create, which ends as `fate` says, and a second process with the
 * other figure.
 */
async function restarted(fate: Fate, before: number, after: number) {
  const here = world();
  let isFirst = true;
  const sim = new SimProvider({
    time: here.time,
    fate: (operation) => (operation === "create" && isFirst ? fate : {}),
  });
  const start = async (maxInlineBytes: number) => {
    const process = new SimProcess(here.time);
    const dispatcher = await here.start({
      accounts: [process.wrap(sim.account({ maxInlineBytes }))],
      store: process.wrap(here.store),
      clock: process.clock,
      thresholds: { maxRequests: 5 },
    });
    return { process, dispatcher };
  };
  const { process, dispatcher } = await start(before);
  await dispatcher.enqueueMany(Array.from({ length: 5 }, (_, n) => ask(`r${n}`)));
  await here.time.advance(3_000);
  process.kill();
  isFirst = false;
  await start(after);
  await here.until(() => isAtRest(here.store, here.time.now()));
  return sim;
}

test.each(CASES)(
  "a create whose answer is lost is not sent again where it is %s",
  async (_, before, after, uploads) => {
    const sim = await restarted({ replyAfterMs: 5 * MINUTE }, before, after);
    expect(sim.executions).toHaveLength(5);
    expect([sim.batches.length, sim.calls.get("create"), sim.calls.get("upload") ?? 0]).toEqual([1, 1, uploads]);
  },
);

test.each(CASES)(
  "the next attempt of a create that was refused goes the same way where it is %s",
  async (_, ...more) => {
    const [before, after, uploads] = more;
    const sim = await restarted({ refuse: DOWN }, before, after);
    expect(sim.executions).toHaveLength(5);
    expect([sim.calls.get("create"), sim.calls.get("upload") ?? 0]).toEqual([2, 2 * uploads]);
  },
);
