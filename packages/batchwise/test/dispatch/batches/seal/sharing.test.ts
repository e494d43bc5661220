// Who goes first, from enqueue to the provider: priorities, then tenants by tokens, then arrival.

import { expect, test } from "vitest";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "../../support/world.ts";

async function batchesOf(
  requests: readonly { readonly name: string; readonly tenant?: string; readonly priority?: number }[],
) {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const thresholds = { maxRequests: 4, maxAgeMs: 60_000 };
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  await dispatcher.enqueueMany(requests.map(({ name, ...more }) => ask(name, more)));
  await here.until(() => isAtRest(here.store, here.time.now()));
  const batches = new Map<string, string[]>();
  for (const { identity, key } of sim.executions) batches.set(key, [...(batches.get(key) ?? []), identity]);
  // Both are sealed at one time, so their members show which was the first.
  return [...batches.values()].map((identities) => identities.toSorted().join(" ")).toSorted();
}

test("a higher priority is in the first batch, whenever it came", async () => {
  const plain = ["a1", "a2", "a3", "a4", "a5", "a6"].map((name) => ({ name }));
  const urgent = ["u1", "u2"].map((name) => ({ name, priority: 5 }));
  expect(await batchesOf([...plain, ...urgent])).toEqual(["a1 a2 u1 u2", "a3 a4 a5 a6"]);
});

test("a tenant of few requests shares each batch with one of many that came before", async () => {
  const many = ["m1", "m2", "m3", "m4", "m5", "m6"].map((name) => ({ name, tenant: "many" }));
  const few = ["f1", "f2"].map((name) => ({ name, tenant: "few" }));
  expect(await batchesOf([...many, ...few])).toEqual(["f1 f2 m1 m2", "m3 m4 m5 m6"]);
});

test("tenants share by tokens: after a long request several short ones fit", async () => {
  const long = ["1", "2", "3"].map((n) => ({ name: `l${n}${"x".repeat(79)}`, tenant: "long" }));
  const short = ["s1", "s2", "s3", "s4", "s5"].map((name) => ({ name, tenant: "short" }));
  const kinds = (await batchesOf([...long, ...short])).map((names) => names.replaceAll(/[\dx]/g, "")).toSorted();
  expect(kinds).toEqual(["l l s s", "l s s s"]);
});
