// The pause of an account with a refused key ends once the account works again, however many
// batches wait.

import { expect, test } from "vitest";
import { endPause } from "../../../src/dispatch/accounts/end-pause.ts";
import { passesGate } from "../../../src/dispatch/batches/submit/gate.ts";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { BatchRow } from "../../../src/dispatch/contract/store/rows.ts";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { Lease } from "../../../src/dispatch/runtime/lease/lease.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import {
  batchOf,
  final,
  keyOf,
  request,
  sealInput,
  settleInput,
} from "../../../src/dispatch-testing/conformance/store/case.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { START } from "../support/world.ts";

const PAUSE_MS = 15 * 60_000;

/**
 * A refused batch that waits until the pause of its account ends, and so many newer ones that were
 * never sent. `others`: accounts without a batch that are paused likewise.
 */
async function paused(
  newer: number,
  ledger: { readonly strikes?: number } = {},
  others: readonly string[] = [],
  /** How much longer than its account the batch waits. */
  longerMs = 0,
) {
  const clock = virtualClock(START);
  const store = memoryStore();
  const account = new SimProvider({ time: clock }).account();
  const runtime = new Runtime(resolveOptions({ store, accounts: [account], clock }));
  const place = { account: account.name, ledger: account.name, maxRequests: 1 };
  for (let n = 0; n <= newer; n += 1) {
    const now = START + n;
    await store.enqueue([request(`r${n}`)], now);
    await store.seal(sealInput(n, { ...place, now, leaseUntil: now }));
  }
  const lastError = JSON.stringify({ code: "invalid_api_key", message: "No." });
  const blockedUntil = START + PAUSE_MS;
  const note = "invalid_api_key";
  const ledgers = [account.name, ...others].map((name) => ({ name, blockedUntil, note, ...ledger }));
  const waits = { nextAt: blockedUntil + longerMs, lastError, ledgers, leaseUntil: 0 } as const;
  expect(await store.transition(keyOf(0), 1, waits, START + newer)).toMatchObject({ ok: true });
  await clock.advance(60_000);
  const ends: string[] = [];
  const transition = store.transition.bind(store);
  store.transition = async (key, fence, changes, now) => {
    if (changes.ledgers?.some(({ blockedUntil }) => blockedUntil === 0)) ends.push(key);
    return transition(key, fence, changes, now);
  };
  const dueAt = async () => (await store.batches({ keys: [keyOf(0)], limit: 1 }))[0]?.nextAt;
  return { clock, store, runtime, account, dueAt, blockedUntil, ends };
}

test.each([0, 150])("with %i newer batches that were never sent", async (newer) => {
  const { clock, runtime, account, dueAt, ends } = await paused(newer);
  await endPause(runtime, account);
  expect(await dueAt()).toBe(clock.now());
  expect((await runtime.ledgers()).get(account.name)?.blockedUntil).toBe(0);
  expect(ends).toHaveLength(1);
});

test("for all processes, by a batch that has ended, where none waits", async () => {
  const { clock, store, runtime, account } = await paused(0);
  const ending = { state: "done", lastError: "{}", failedSteps: 2 } as const;
  const [batch] = await store.batches({ keys: [keyOf(0)], limit: 1 });
  await store.settle(settleInput(batch as BatchRow, [final(0)], { now: clock.now() }));
  expect(await store.transition(keyOf(0), 1, ending, clock.now())).toMatchObject({ ok: true });
  await endPause(runtime, account);
  const { ledgers } = await store.probe(1, clock.now());
  expect(ledgers.map(({ blockedUntil }) => blockedUntil)).toEqual([0]);
  expect(await store.batches({ keys: [keyOf(0)], limit: 1 })).toMatchObject([ending]);
});

test("but not the longer wait of a batch at another account", async () => {
  const hour = 60 * 60_000;
  const { clock, runtime, account, dueAt, blockedUntil } = await paused(0, {}, ["mended"], hour);
  const accounts = [account, { ...account, name: "mended" }];
  const both = new Runtime(resolveOptions({ store: runtime.store, accounts, clock }));
  await endPause(both, accounts[1] as typeof account);
  expect(await dueAt()).toBe(blockedUntil + hour);
});

/** Leases on two new batches at `account`, which its ledger does not hold. */
async function twoLeases(here: Runtime, account: Account) {
  const now = here.clock.now();
  await here.store.enqueue([request("x"), request("y")], now);
  const place = { account: account.name, ledger: "free", maxRequests: 1, now, leaseUntil: now + PAUSE_MS };
  const rows = await Promise.all([1, 2].map(async (n) => batchOf(await here.store.seal(sealInput(n, place)))));
  return rows.map((row) => new Lease(here, account, row, here.clock.monotonic()));
}

test("where two batches pass the gate together", async () => {
  const { store, account, clock, ends } = await paused(0, {}, ["mended"]);
  const mended = { ...account, name: "mended" };
  const here = new Runtime(resolveOptions({ store, accounts: [mended], clock }));
  await endPause(here, mended);
  expect(ends).toEqual([]);
  const leases = await twoLeases(here, mended);
  expect(await Promise.all(leases.map((lease) => passesGate(here, lease)))).toEqual([true, true]);
  for (const lease of leases) lease.close();
  expect((await store.probe(1, clock.now())).ledgers).toContainEqual(
    expect.objectContaining({ name: "mended", blockedUntil: 0 }),
  );
});

test.each(["carrier", "gate"])("not one that is written before the end is, by the %s", async (by) => {
  const { store, account, clock, blockedUntil } = await paused(0, {}, ["mended"]);
  const mended = { ...account, name: "mended" };
  const accounts = by === "carrier" ? [account, mended] : [mended];
  const here = new Runtime(resolveOptions({ store, accounts, clock }));
  const transition = store.transition.bind(store);
  const later = { name: "mended", blockedUntil: blockedUntil + 1, note: "insufficient_quota" };
  store.transition = async (key, fence, changes, now) => {
    // As of another process, on whatever batch.
    if (changes.ledgers?.some(({ blockedUntil }) => blockedUntil === 0) === true) {
      store.transition = transition;
      await transition(key, fence, { ledgers: [later] }, now);
    }
    return transition(key, fence, changes, now);
  };
  await endPause(here, mended);
  const [lease, other] = by === "gate" ? await twoLeases(here, mended) : [];
  if (lease !== undefined) expect(await passesGate(here, lease)).toBe(false);
  for (const one of [lease, other]) one?.close();
  expect(store.transition).toBe(transition);
  expect((await here.ledgers()).get("mended")?.blockedUntil).toBe(later.blockedUntil);
});

test("not where the account is paused because a limit is used up", async () => {
  const { runtime, account, dueAt, blockedUntil } = await paused(0, { strikes: 1 });
  await endPause(runtime, account);
  expect(await dueAt()).toBe(blockedUntil);
  expect((await runtime.ledgers()).get(account.name)?.blockedUntil).toBe(blockedUntil);
});

test("by a batch that waits at another account, whose own pause stays", async () => {
  const { clock, runtime, account, dueAt, blockedUntil } = await paused(0, {}, ["mended"]);
  const accounts = [account, { ...account, name: "mended" }];
  const both = new Runtime(resolveOptions({ store: runtime.store, accounts, clock }));
  await endPause(both, accounts[1] as typeof account);
  const ends = [...(await runtime.ledgers()).values()].map(({ name, blockedUntil }) => [name, blockedUntil]);
  expect(new Map(ends as [string, number][])).toEqual(
    new Map([
      [account.name, blockedUntil],
      ["mended", 0],
    ]),
  );
  expect(await dueAt()).toBe(clock.now());
});

test("for this process alone where no batch waits at an account, until one passes the gate", async () => {
  const { runtime, account, dueAt, clock, blockedUntil } = await paused(0, {}, ["mended"]);
  const mended = { ...account, name: "mended" };
  const here = new Runtime(resolveOptions({ store: runtime.store, accounts: [mended], clock }));
  await endPause(here, mended);
  expect((await here.ledgers()).get("mended")?.blockedUntil).toBe(0);
  expect((await runtime.ledgers()).get("mended")?.blockedUntil).toBe(blockedUntil);
  expect(await dueAt()).toBe(blockedUntil);
});
