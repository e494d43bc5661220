// How fast a batch of nothing but refused requests is taken apart.

import { expect, test } from "vitest";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { SIM_LIMITS, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const refused: Failure = { kind: "invalidRequest", code: "invalid_batch", message: "Refused.", lines: [] };

test("batches are halved no faster than half of the provider's limit of creates an hour", async () => {
  const { time, store, start, until } = world();
  const sim = new SimProvider({
    time,
    plan: ({ identities }) => (identities.some((name) => name.startsWith("bad")) ? { failure: refused } : {}),
  });
  const limits = { ...SIM_LIMITS, maxCreatesPerHour: 40 };
  const dispatcher = await start({
    accounts: [sim.account({ limits })],
    thresholds: { maxRequests: 33, maxAgeMs: MINUTE },
  });
  const names = Array.from({ length: 32 }, (_, index) => `${index % 8 === 0 ? "bad" : "good"}-${index}`);
  await dispatcher.enqueueMany(["first", ...names].map((name) => ask(name)));
  await until(() => isAtRest(store, time.now()), 7 * 24 * HOUR);
  const { outcomes } = await dispatcher.stats();
  expect(outcomes).toMatchObject({ succeeded: 29, failed: 4 });
  const times = sim.batches.map(({ createdAt }) => createdAt);
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + HOUR).length));
  expect(most).toBeGreaterThan(12);
  expect(most).toBeLessThanOrEqual(24);
  expect(times.length).toBeGreaterThan(24);
});
