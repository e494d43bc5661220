// Looks at running batches: each in its time, many by one list call, and never through a list without an end.

import { expect, test } from "vitest";
import type { DispatchRequest } from "../../src/dispatch/types.ts";
import { SimProvider } from "./support/sim-provider.ts";
import { world } from "./support/world.ts";

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
