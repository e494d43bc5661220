// Batches at the provider beside the one of record, as events and statistics count them.

import { expect, test } from "vitest";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

test("a duplicate is counted once, when its cancel has succeeded", async () => {
  const { time, store, start, until } = world();
  let creates = 0;
  let cancels = 0;
  const visibleAt = time.now() + 15_000;
  const sim = new SimProvider({
    time,
    listLagMs: () => Math.max(0, visibleAt - time.now()),
    plan: () => ({ runMs: 3 * 3_600_000 }),
    fate: (operation) => {
      if (operation === "create") return creates++ < 2 ? { drop: "after" } : {};
      if (operation === "cancel") return cancels++ < 3 ? { drop: "before" } : {};
      return {};
    },
  });
  const account = sim.account({}, { requestTimeoutMs: 1_000, reconcileGraceMs: 1_000 });
  const dispatcher = await start({ accounts: [account], onError: () => {} });
  const counted = { adopt: 0, sweep: 0 };
  dispatcher.on("adopt", ({ duplicates }) => (counted.adopt += duplicates));
  dispatcher.on("sweep", ({ duplicates }) => (counted.sweep += duplicates));
  await dispatcher.enqueue(ask("a"));
  void dispatcher.flush();
  await until(() => isAtRest(store, time.now()));
  expect(sim.batches.map(({ state }) => state)).toEqual(["done", "cancelled"]);
  expect([counted, (await dispatcher.stats()).duplicateBatches]).toEqual([{ adopt: 0, sweep: 1 }, 1]);
});
