// A provider that fails a batch it has accepted in words of rights or money, which may be about the
// account or about one request that no words name.

import { expect, test } from "vitest";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const IDS = ["r0", "r1", "odd", "r3"];
const denied: Failure = { kind: "authOrBilling", code: "job_access_denied", message: "Access denied." };

function rig(isDenied: (identities: readonly string[], now: number) => boolean) {
  const here = world();
  const begunAt = here.time.now();
  const sim = new SimProvider({
    time: here.time,
    plan: ({ identities }) => (isDenied(identities, here.time.now() - begunAt) ? { failure: denied } : {}),
  });
  const start = () => here.start({ accounts: [sim.account()], thresholds: { maxRequests: IDS.length } });
  const rest = () => here.until(() => isAtRest(here.store, here.time.now()), 48 * HOUR);
  return { ...here, sim, start, rest };
}

test("of one request it fails that request, and the others are answered the same day", async () => {
  const { sim, start, rest, time } = rig((identities) => identities.includes("odd"));
  const begunAt = time.now();
  const dispatcher = await start();
  await dispatcher.enqueueMany(IDS.map((id) => ask(id)));
  const answered: Record<string, number> = {};
  for (const id of IDS) {
    dispatcher.result(id).then(
      () => {
        answered[id] = (time.now() - begunAt) / HOUR;
      },
      () => {},
    );
  }
  await rest();
  const outcomes = await Promise.all(IDS.map((id) => dispatcher.result(id)));
  expect(outcomes.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "failed", "succeeded"]);
  expect(outcomes[2]?.error?.code).toBe("job_access_denied");
  expect(Math.max(...["r0", "r1", "r3"].map((id) => answered[id] ?? Infinity))).toBeLessThan(4);
  expect(sim.batches.length).toBeLessThan(40);
});

test("of the account for three hours it costs nothing but time, and few calls", async () => {
  const { sim, start, rest } = rig((_identities, sinceMs) => sinceMs < 3 * HOUR);
  const dispatcher = await start();
  await dispatcher.enqueueMany(IDS.map((id) => ask(id)));
  await rest();
  const outcomes = await Promise.all(IDS.map((id) => dispatcher.result(id)));
  expect(outcomes.map(({ status, attempts }) => [status, attempts])).toEqual(IDS.map(() => ["succeeded", 1]));
  expect(sim.batches.length).toBeLessThan(16);
});
