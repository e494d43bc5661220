// A process that only enqueues: it is never started, calls no provider, and works on no batch.

import { expect, test } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, storeDown, type World, world } from "../../support/world.ts";

const MINUTE = 60_000;

function producerIn(here: World, sim: SimProvider, options: Partial<DispatcherOptions> = {}): Dispatcher {
  const { clock } = new SimProcess(here.time);
  return createDispatcher({ store: here.store, accounts: [sim.account()], clock, ...options });
}

test("its cancel takes no batch over: a started process stops it at the provider, and delivers the outcome", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const heard: string[] = [];
  const onOutcome = ({ id, status }: { id: string; status: string }): void => void heard.push(`${id} ${status}`);
  await here.start({ accounts: [sim.account()], thresholds: { maxRequests: 1 }, onOutcome });
  const producer = producerIn(here, sim);
  await producer.enqueue(ask("a"));
  await here.time.advance(5 * MINUTE);
  const before = await here.store.batches({ limit: 1 });
  expect(await producer.cancel("a")).toBe("requested");
  expect(await here.store.batches({ limit: 1 })).toMatchObject([{ fence: before[0]?.fence, cancelRequested: 1 }]);
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(sim.calls.get("cancel")).toBe(1);
  expect(heard).toEqual(["a cancelled"]);
});

test("requests that it cancels at once are delivered by the others, if it has their settings", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const heard: string[] = [];
  const accounts = [sim.account()];
  await here.start({ accounts, onOutcome: ({ id }) => void heard.push(id) });
  const producer = producerIn(here, sim, { onOutcome: () => expect.unreachable("It is not started.") });
  await producer.enqueueMany([ask("a"), ask("b")]);
  expect(await producer.cancel("a")).toBe("cancelled");
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(heard.toSorted()).toEqual(["a", "b"]);
});

test("its enqueueMany that fails on the way says how far it came, and is repeated by id", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  let calls = 0;
  const store = new SimProcess(here.time).wrap(here.store, (name, call) => {
    if (name === "enqueue") calls += 1;
    return name === "enqueue" && calls === 3 ? Promise.reject(storeDown()) : call();
  });
  const producer = producerIn(here, sim, { store });
  const requests = Array.from({ length: 2_500 }, (_, n) => ask(`r${n}`));
  const failed = {
    code: "STORE_UNAVAILABLE",
    retryable: true,
    message: expect.stringContaining("Of 2500 requests the first 2000 are stored"),
  };
  await expect(producer.enqueueMany(requests)).rejects.toMatchObject(failed);
  const answers = await producer.enqueueMany(requests);
  expect(answers.filter(({ existing }) => existing)).toHaveLength(2_000);
  expect((await here.store.probe(5_000, here.time.now())).lanes).toMatchObject([{ ready: 2_500 }]);
});
