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
 * never sent.
 */
async function paused(newer: number, ledger: { readonly strikes?: number } = {}) {
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
  const ledgers = [{ name: account.name, blockedUntil, note: "invalid_api_key", ...ledger }];
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
