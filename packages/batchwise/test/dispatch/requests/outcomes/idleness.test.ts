// Store calls that detect the end of a job while its batches are quarantined, and the state that an
// abandoned wait leaves.

import { expect, test } from "vitest";
import type { OutcomeQuery } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Idleness } from "../../../../src/dispatch/requests/outcomes/idleness.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { ended, many, NOW, sealInput, settleInput } from "../../../../src/dispatch-testing/conformance/store/case.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, world } from "../../support/world.ts";

test("members of a quarantined batch are counted once, and again when some have left it", async () => {
  const { time } = world();
  const store = memoryStore();
  let reads = 0;
  const { requests, find } = { requests: store.requests.bind(store), find: store.find.bind(store) };
  store.requests = (query) => {
    reads += 1;
    return requests(query);
  };
  store.find = (query) => {
    reads += 1;
    return find(query);
  };
  await store.enqueue([...many(1_500, { job: "j" }), ...many(3, { job: "other" }, "o")], NOW);
  const sealed = await store.seal(sealInput(1));
  if (!sealed.ok) throw new Error(sealed.reason);
  await store.transition(sealed.batch.key, 1, { state: "quarantined" }, NOW);
  const runtime = new Runtime(resolveOptions({ store, accounts: [new SimProvider({ time }).account()] }));
  const idleness = new Idleness(runtime, "j");
  const keys = [sealed.batch.key];
  expect(await idleness.look()).toMatchObject({ code: "QUARANTINED", keys });
  expect(reads).toBe(1);
  for (let n = 0; n < 5; n += 1) expect(await idleness.look()).toMatchObject({ code: "QUARANTINED", keys });
  expect(reads).toBe(1);
  await store.settle(settleInput(sealed.batch, [ended(0, {})]));
  expect(String(await idleness.look())).toContain("1499 requests have no outcome");
  expect(reads).toBe(2);
  expect(await new Idleness(runtime, "none").look()).toBe("done");
});

test("a wait that is aborted during its look-up keeps no place in the log", async () => {
  const { time, store, start, until } = world();
  const queries: OutcomeQuery[] = [];
  const outcomes = store.outcomes.bind(store);
  store.outcomes = (query) => {
    queries.push(query);
    return outcomes(query);
  };
  const accounts = [new SimProvider({ time }).account()];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: 1 } });
  await dispatcher.enqueue(ask("slow"));
  const gone = new AbortController();
  const probe = store.probe.bind(store);
  store.probe = async (...given) => {
    gone.abort(new Error("given up"));
    return probe(...given);
  };
  await expect(dispatcher.result("slow", { signal: gone.signal })).rejects.toThrow("given up");
  store.probe = probe;
  await dispatcher.enqueueMany(Array.from({ length: 3 }, (_, n) => ask(`r${n}`)));
  await until(async () => (await store.probe(1, time.now())).cursor === 4);
  await dispatcher.enqueue(ask("late"));
  queries.length = 0;
  const late = dispatcher.result("late");
  await until(async () => (await store.probe(1, time.now())).cursor === 5);
  expect((await late).status).toBe("succeeded");
  const afters = queries.flatMap((query) => ("after" in query ? [query.after] : []));
  expect(Math.min(...afters)).toBe(4);
  await dispatcher.stop();
});
