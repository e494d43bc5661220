// Accounts that run lines themselves, on a store that refuses the results of some batches for ever
// and takes heartbeats: these batches wait, no line runs again, and the account's others go on.

import { localAccount } from "batchwise/dispatch/local";
import { expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { DispatchError } from "../../../../src/dispatch/contract/errors.ts";
import type { SettleInput } from "../../../../src/dispatch/contract/store/calls.ts";
import { SimRunner } from "../../support/simulation/sim-runner.ts";
import { ask, isAtRest, SimProcess, type World, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const SIZE = 3;
const full = new DispatchError("STORE_FULL", "The tablespace is full.");
const never = (): Promise<never> => new Promise(() => {});

/** A dispatcher on a store whose `settle` does so for batches with one of the requests named. */
async function site(here: World, account: Account, bad: readonly string[], refuse: () => Promise<never>) {
  const set = { isBad: true };
  const process = new SimProcess(here.time);
  const isBad = async ({ key }: SettleInput): Promise<boolean> => {
    const { rows } = await here.store.find({ match: { batchKey: key }, after: 0, limit: 100 });
    return set.isBad && rows.some(({ id }) => bad.includes(id));
  };
  const store = process.wrap(here.store, async (name, call, given) => {
    if (name === "settle" && (await isBad(given[0] as SettleInput))) await refuse();
    return call();
  });
  const options = { store, accounts: [account], thresholds: { maxRequests: SIZE, maxAgeMs: 60_000 } };
  const dispatcher = await here.start({ ...options, onError: () => {}, clock: process.clock });
  return { set, dispatcher };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

async function endedOf(here: World): Promise<number> {
  return (await here.store.outcomes({ after: 0, limit: 1_000 })).length;
}

test.each([
  ["refuses the results of", 1, async () => Promise.reject(full)],
  ["refuses the results of", 4, async () => Promise.reject(full)],
  ["hangs at the results of", 2, never],
] as const)("a store that %s %i batches for ever keeps no place of the account", async (_what, count, refuse) => {
  const here = world();
  const runner = new SimRunner({ time: here.time, lineMs: () => 1_000 });
  const all = names(20 * SIZE);
  const bad = Array.from({ length: count }, (_, index) => `r${index * SIZE}`);
  const { set, dispatcher } = await site(here, runner.account(), bad, refuse);
  await dispatcher.enqueueMany(all.map((name) => ask(name)));
  await here.time.advance(HOUR);
  expect(await endedOf(here)).toBe(all.length - count * SIZE);
  const more = Array.from({ length: 10 * SIZE }, (_, index) => `more${index}`);
  await dispatcher.enqueueMany(more.map((name) => ask(name)));
  await here.time.advance(5 * 60_000);
  expect(await endedOf(here)).toBe(all.length + more.length - count * SIZE);
  expect(runner.executions).toHaveLength(all.length + more.length);
  set.isBad = false;
  if (refuse === never) return;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(runner.executions).toHaveLength(all.length + more.length);
  const { ledgers } = await here.store.probe(1, here.time.now());
  expect(ledgers).toMatchObject([{ batches: 0, requests: 0 }]);
});

test("a store that refuses the results of every batch has few lines run, and each once", async () => {
  const here = world();
  const runner = new SimRunner({ time: here.time, lineMs: () => 1_000 });
  const all = names(40 * SIZE);
  const { set, dispatcher } = await site(here, runner.account(), all, async () => Promise.reject(full));
  await dispatcher.enqueueMany(all.map((name) => ask(name)));
  await here.time.advance(12 * HOUR);
  expect(await endedOf(here)).toBe(0);
  expect(runner.executions.length).toBeLessThanOrEqual(6 * SIZE);
  set.isBad = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(await endedOf(here)).toBe(all.length);
  expect(runner.executions).toHaveLength(all.length);
});

test("a batch that waits so does not take the one line that an account may run at once", async () => {
  const here = world();
  const seen: string[] = [];
  const handler = async (body: object): Promise<object> => {
    seen.push(JSON.stringify(body));
    return { choices: [{ message: { role: "assistant", content: "yes" } }] };
  };
  const account = localAccount({ handler, concurrency: 1, pollMs: 1_000 });
  const { set, dispatcher } = await site(here, account, ["r1"], async () => Promise.reject(full));
  await dispatcher.enqueueMany(names(5 * SIZE).map((name) => ask(name)));
  await here.until(async () => (await endedOf(here)) === 4 * SIZE, HOUR);
  set.isBad = false;
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(await endedOf(here)).toBe(5 * SIZE);
  expect(seen).toHaveLength(5 * SIZE);
});
