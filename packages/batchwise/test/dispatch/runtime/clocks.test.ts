// Clocks that disagree: how far apart they may be before a request runs twice. The provider's clock
// is right.

import { expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { type Fate, SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, seeded, type World, world } from "../support/world.ts";

const SECOND = 1_000;

async function startAhead({ time, store }: World, account: Account, skewMs: number) {
  const process = new SimProcess(time, skewMs);
  const options = { clock: process.clock, random: seeded(skewMs + 1), thresholds: { maxRequests: 2 } };
  const dispatcher = createDispatcher({ store: process.wrap(store), accounts: [account], ...options });
  await dispatcher.start();
  return dispatcher;
}

async function runsOf({ time, store, until }: World, sim: SimProvider): Promise<number[]> {
  await until(() => isAtRest(store, time.now()));
  expect((await store.probe(1, time.now())).outcomes.succeeded).toBe(2);
  return [...sim.successes().values()];
}

// By default a create is given up six minutes after it was sent; here it is accepted after 20
// seconds.
test.each([
  [120, 1],
  [330, 1],
  [350, 2],
])("a process that is %i s ahead of the one that sends lets each request run %i times", async (ahead, runs) => {
  const here = world();
  const fate = (operation: string): Fate => (operation === "create" ? { actAfterMs: 20 * SECOND } : {});
  const sim = new SimProvider({ time: here.time, fate, plan: () => ({ validateMs: 5_000, runMs: 5_000 }) });
  const sender = await startAhead(here, sim.account(), 0);
  await startAhead(here, sim.account(), ahead * SECOND);
  await sender.enqueueMany([ask("a"), ask("b")]);
  expect(await runsOf(here, sim)).toEqual([runs, runs]);
});

test.each([
  [110, 1],
  [130, 2],
])(
  "a process %i s ahead of a provider without tags lets each request run %i times when an answer is lost",
  async (ahead, runs) => {
    const here = world();
    let creates = 0;
    const fate = (operation: string): Fate => {
      if (operation === "create") creates += 1;
      return operation === "create" && creates === 1 ? { drop: "after" } : {};
    };
    const sim = new SimProvider({ time: here.time, fate });
    const sender = await startAhead(here, sim.account({ tag: "none" }), ahead * SECOND);
    await sender.enqueueMany([ask("a"), ask("b")]);
    expect(await runsOf(here, sim)).toEqual([runs, runs]);
  },
);
