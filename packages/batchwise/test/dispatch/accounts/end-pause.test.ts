// The pause of an account with a refused key ends once the account works again, however many
// batches wait.

import { expect, test } from "vitest";
import { endPause } from "../../../src/dispatch/accounts/end-pause.ts";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { keyOf, request, sealInput } from "../../../src/dispatch-testing/conformance/store/case.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { START } from "../support/world.ts";

const PAUSE_MS = 15 * 60_000;

/**
 * A refused batch that waits until the pause of its account ends, and so many newer ones that were
 * never sent. `others`: accounts without a batch that are paused likewise.
 */
async function paused(newer: number, ledger: { readonly strikes?: number } = {}, others: readonly string[] = []) {
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
  const waits = { nextAt: blockedUntil, lastError, ledgers, leaseUntil: 0 } as const;
  expect(await store.transition(keyOf(0), 1, waits, START + newer)).toMatchObject({ ok: true });
  await clock.advance(60_000);
  const dueAt = async () => (await store.batches({ keys: [keyOf(0)], limit: 1 }))[0]?.nextAt;
  return { clock, runtime, account, dueAt, blockedUntil };
}

test.each([0, 150])("with %i newer batches that were never sent", async (newer) => {
  const { clock, runtime, account, dueAt } = await paused(newer);
  await endPause(runtime, account);
  expect(await dueAt()).toBe(clock.now());
  expect((await runtime.ledger(account.name))?.blockedUntil).toBe(0);
});

test("not where the account is paused because a limit is used up", async () => {
  const { runtime, account, dueAt, blockedUntil } = await paused(0, { strikes: 1 });
  await endPause(runtime, account);
  expect(await dueAt()).toBe(blockedUntil);
  expect((await runtime.ledger(account.name))?.blockedUntil).toBe(blockedUntil);
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
  expect((await here.ledger("mended"))?.blockedUntil).toBe(0);
  expect((await runtime.ledger("mended"))?.blockedUntil).toBe(blockedUntil);
  expect(await dueAt()).toBe(blockedUntil);
  here.troubles.endWritten("mended");
  expect((await here.ledger("mended"))?.blockedUntil).toBe(blockedUntil);
});
