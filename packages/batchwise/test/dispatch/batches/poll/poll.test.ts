// Looks at running batches: each in its time, many by one list call, and never through a list
// without an end.

import { expect, test } from "vitest";
import { roundUpToInterval } from "../../../../src/dispatch/batches/poll/poll.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { world } from "../../support/world.ts";

const of = (model: string, id: string): DispatchRequest => ({
  id,
  body: { model, messages: [{ role: "user", content: id }] },
});

test("a batch that is due is looked at at once, whatever other batches did meanwhile", async () => {
  const { time, store, start } = world();
  const accounts = [
    new SimProvider({ time }).account({}, { name: "slow", pollMs: 7_000, models: ["m1"] }),
    new SimProvider({ time }).account({}, { name: "fast", pollMs: 2_000, models: ["m2"] }),
  ];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: 1 } });
  await dispatcher.enqueueMany([of("m1", "a"), of("m2", "b")]);
  let most = 0;
  for (let looks = 0; looks < 1_000; looks += 1) {
    await time.advance(500);
    for (const { leaseUntil, nextAt } of await store.batches({ limit: 10, states: ["submitted", "running"] })) {
      if (leaseUntil === 0) most = Math.max(most, time.now() - nextAt);
    }
  }
  expect(most).toBeLessThan(100);
});

test("batches among thousands of strangers are read by their ids, without the whole list", async () => {
  const { time, start } = world();
  const sim = new SimProvider({ time });
  const list = { paged: true, pageSize: 100, newestFirst: true };
  const dispatcher = await start({ accounts: [sim.account({ list })], thresholds: { maxRequests: 1 } });
  await dispatcher.enqueueMany([of("m", "a"), of("m", "b")]);
  await time.advance(1_000);
  for (let strangers = 0; strangers < 2_000; strangers += 1) sim.addForeign(1);
  const listed = (): number => sim.calls.get("list") ?? 0;
  const before = listed();
  await time.advance(9 * 60_000);
  const asked = sim.calls.get("retrieve") ?? 0;
  expect(asked).toBeGreaterThan(4);
  expect(listed() - before).toBeLessThanOrEqual(asked);
});

test("polls come on multiples of the account's interval, never early", () => {
  expect([roundUpToInterval(1, 30), roundUpToInterval(30, 30), roundUpToInterval(31, 30)]).toEqual([30, 30, 60]);
});
