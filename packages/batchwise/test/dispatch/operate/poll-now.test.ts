// A webhook's hint: the batch is polled now, in whatever process it arrives, and its content is not
// trusted.

import { expect, test } from "vitest";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { ask, SimProcess, world } from "../support/world.ts";

const MINUTE = 60_000;

async function rig() {
  const here = world();
  let runMs = 60 * MINUTE;
  const sim = new SimProvider({ time: here.time, plan: () => ({ validateMs: 0, runMs }) });
  const account = sim.account({}, { pollMs: 30 * MINUTE });
  const dispatcher = await here.start({ accounts: [account], thresholds: { maxRequests: 2 } });
  const send = async (...names: string[]): Promise<void> => {
    await dispatcher.enqueueMany(names.map((name) => ask(name)));
    await here.time.advance(MINUTE);
  };
  const states = async () => (await dispatcher.batches()).map(({ state }) => state).sort();
  const looks = (): number => (sim.calls.get("retrieve") ?? 0) + (sim.calls.get("list") ?? 0);
  const shorten = (): void => {
    runMs = 5 * MINUTE;
  };
  return { ...here, sim, account, dispatcher, send, states, looks, shorten };
}

test("the batch that the provider names is looked at before its next poll", async () => {
  const { dispatcher, time, send, states, sim, shorten } = await rig();
  shorten();
  await send("a", "b");
  await time.advance(5 * MINUTE);
  expect(await states()).not.toContain("done");
  expect(await dispatcher.pollNow({ providerBatchId: sim.batches[0]?.id ?? "" })).toBe(1);
  await time.advance(MINUTE);
  expect(await states()).toEqual(["done"]);
});

test("a hint that comes too early changes nothing but the time of the look", async () => {
  const { dispatcher, time, send, states, looks } = await rig();
  await send("a", "b");
  const before = looks();
  const [batch] = await dispatcher.batches();
  expect(await dispatcher.pollNow({ batch: batch?.key ?? "", account: "sim" })).toBe(1);
  await time.advance(MINUTE);
  expect([looks() - before, await states()]).toEqual([1, ["running"]]);
});

test("an account's name makes all of its batches due", async () => {
  const { dispatcher, time, send, looks } = await rig();
  await send("a", "b");
  await send("c", "d");
  const before = looks();
  expect(await dispatcher.pollNow({ account: "sim" })).toBe(2);
  await time.advance(MINUTE);
  expect(looks() - before).toBeGreaterThan(0);
});

test("it may come in at a process that runs no loops", async () => {
  const { store, account, time, send, states, sim, shorten } = await rig();
  shorten();
  await send("a", "b");
  await time.advance(5 * MINUTE);
  const receiver = createDispatcher({ store, accounts: [account], clock: new SimProcess(time).clock });
  expect(await receiver.pollNow({ providerBatchId: sim.batches[0]?.id ?? "" })).toBe(1);
  await time.advance(2 * MINUTE);
  expect(await states()).toEqual(["done"]);
  await receiver.stop();
});

test("an unknown or deleted batch is no error", async () => {
  const { dispatcher, time, send } = await rig();
  await send("a", "b");
  expect(await dispatcher.pollNow({ providerBatchId: "stranger" })).toBe(0);
  expect(await dispatcher.pollNow({ account: "nobody" })).toBe(0);
  await time.advance(3 * 60 * MINUTE);
  expect(await dispatcher.pollNow({ account: "sim" })).toBe(0);
});

test("it must say which batches", async () => {
  const { dispatcher } = await rig();
  await expect(dispatcher.pollNow({})).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(dispatcher.pollNow({ batches: "a" } as never)).rejects.toThrow("Unknown option `batches`");
  await expect(dispatcher.pollNow({ batch: 7 as never })).rejects.toThrow("`batch`");
});
