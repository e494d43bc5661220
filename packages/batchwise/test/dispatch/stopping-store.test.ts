// A stop with a store that refuses, is gone, or hangs: it ends within ten seconds, and gives the
// lease back if the store permits. Also a store that hangs without a stop: it is reported once, and
// once more when it answers.

import { expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../src/dispatch/contract/errors.ts";
import { SimProvider } from "./support/simulation/sim-provider.ts";
import { SimRunner } from "./support/simulation/sim-runner.ts";
import { ask, isAtRest, SimProcess, storeDown, type World, world } from "./support/world.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const names = Array.from({ length: 10 }, (_, index) => `r${index}`);
const thresholds = { maxRequests: 10, maxAgeMs: MINUTE };

type Fate = (name: string) => Promise<void>;
const never = (): Promise<never> => new Promise(() => {});
const full = async (): Promise<never> => {
  throw new DispatchError("STORE_FULL", "The tablespace is full.");
};
const gone = async (): Promise<never> => {
  throw storeDown();
};

/**
 * A dispatcher in a process of its own, whose clock does not wait for the store. `fate` affects its
 * calls once it is set.
 */
async function shop(here: World, account?: Account) {
  const sim = new SimProvider({ time: here.time });
  const told: unknown[] = [];
  const process = new SimProcess(here.time);
  const set: { fate: Fate } = { fate: async () => {} };
  const store = process.wrap(here.store, async (name, call) => {
    await set.fate(name);
    return call();
  });
  const onError = (error: unknown): void => void told.push(error);
  const accounts = [account ?? sim.account()];
  const dispatcher = await here.start({ store, accounts, thresholds, onError, clock: process.clock });
  return { sim, told, dispatcher, set, process };
}

/** Steps on until it happened. */
async function passUntil(here: World, happened: () => boolean): Promise<void> {
  for (let n = 0; n < 100_000 && !happened(); n += 1) await here.time.advance(100);
  expect(happened()).toBe(true);
}

async function stopsWithin(here: World, dispatcher: { stop(): Promise<void> }): Promise<number> {
  const begunAt = here.time.now();
  let endedAt: number | null = null;
  void dispatcher.stop().then(() => {
    endedAt = here.time.now();
  });
  for (let n = 0; n < 1_200 && endedAt === null; n += 1) await here.time.advance(100);
  return (endedAt ?? Number.POSITIVE_INFINITY) - begunAt;
}

test.each([
  ["refuses results and takes heartbeats", (name: string) => (name === "settle" ? full() : Promise.resolve())],
  ["hangs at results and takes heartbeats", (name: string) => (name === "settle" ? never() : Promise.resolve())],
])("a stop while the store %s ends in time and gives the lease back", async (_what, fate) => {
  const here = world();
  const { sim, dispatcher, set } = await shop(here);
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  set.fate = fate;
  await passUntil(here, () => sim.calls.has("results"));
  await here.time.advance(MINUTE);
  const [before] = await here.store.batches({ limit: 1 });
  expect(before).toMatchObject({ state: "collecting", remaining: 10 });
  expect(before?.leaseUntil).toBeGreaterThan(here.time.now());

  expect(await stopsWithin(here, dispatcher)).toBeLessThan(10 * SECOND);
  const [after] = await here.store.batches({ limit: 1 });
  expect(after).toMatchObject({ state: "collecting", remaining: 10, leaseUntil: 0 });
  expect(after?.nextAt).toBeLessThanOrEqual(here.time.now());

  await here.start({ accounts: [sim.account()], thresholds });
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect([...sim.successes().values()]).toEqual(names.map(() => 1));
});

test.each([
  ["refuses results for an hour", "settle", full, 60 * MINUTE],
  ["hangs at results for an hour", "settle", never, 60 * MINUTE],
  ["is gone for a second", "", gone, 1_000],
  ["hangs for a second", "", never, 1_000],
] as const)("a stop while lines run here and the store %s ends in time", async (_what, of, fate, forMs) => {
  const here = world();
  const runner = new SimRunner({ time: here.time, lineMs: () => 20_000 });
  const { dispatcher, set } = await shop(here, runner.account());
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await passUntil(here, () => runner.executions.length > 0);
  await here.time.advance(21_000);
  set.fate = (name) => (of === "" || name === of ? fate() : Promise.resolve());
  await here.time.advance(20_000 + forMs);
  const ran = runner.executions.length;

  expect(await stopsWithin(here, dispatcher)).toBeLessThan(10 * SECOND);
  const [after] = await here.store.batches({ limit: 1 });
  if (of !== "") expect(after).toMatchObject({ leaseUntil: 0 });
  await here.start({ accounts: [runner.account()], thresholds });
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect((await here.store.outcomes({ ids: names })).map(({ status }) => status)).toEqual(names.map(() => "succeeded"));
  expect(runner.executions.length - ran).toBeLessThanOrEqual(names.length);
});

test.each([
  ["gone", gone],
  ["hanging", never],
])("a stop with the store %s right after a create ends in time, and nothing runs twice", async (_what, fate) => {
  const here = world();
  const { sim, dispatcher, set } = await shop(here);
  set.fate = async () => {
    if (sim.calls.has("create")) await fate();
  };
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await passUntil(here, () => sim.calls.has("create"));
  await here.time.advance(SECOND);
  expect(await stopsWithin(here, dispatcher)).toBeLessThan(10 * SECOND);
  await here.start({ accounts: [sim.account()], thresholds });
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect([...sim.successes().values()]).toEqual(names.map(() => 1));
});

test.each([
  ["gone", gone],
  ["hanging", never],
])("a stop with the store %s ends in time where nothing is under way", async (_what, fate) => {
  const here = world();
  const { dispatcher, set } = await shop(here);
  set.fate = fate;
  await here.time.advance(10 * MINUTE);
  expect(await stopsWithin(here, dispatcher)).toBeLessThan(10 * SECOND);
});

test("a store that hangs is reported once, and once more when it answers; the calls that waited are answered", async () => {
  const here = world();
  const { dispatcher, set, told } = await shop(here);
  let answer = (): void => {};
  const answers = new Promise<void>((resolve) => {
    answer = resolve;
  });
  set.fate = () => answers;
  const enqueued = dispatcher.enqueueMany(names.map((name) => ask(name)));
  await here.time.advance(4 * SECOND);
  expect(told).toEqual([]);
  await here.time.advance(2 * SECOND);
  const slow = { code: "STORE_SLOW", message: expect.stringContaining("has not answered the call `") };
  expect(told).toMatchObject([slow]);
  await here.time.advance(10 * MINUTE);
  expect(told).toMatchObject([slow]);
  answer();
  await enqueued;
  await here.time.advance(100);
  expect(told).toMatchObject([
    slow,
    { code: "STORE_SLOW", message: expect.stringMatching(/answers again, after 60\d s/) },
  ]);
  set.fate = async (name) => {
    if (name === "probe") await new Promise<void>((resolve) => here.time.setTimeout(resolve, 4_900));
  };
  await here.time.advance(10 * MINUTE);
  expect(told).toHaveLength(2);
  await dispatcher.stop();
});
