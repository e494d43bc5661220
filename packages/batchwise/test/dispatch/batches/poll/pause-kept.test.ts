// What a poll proves of an account ends the pause that it disproves, and no other: neither one that
// another process writes meanwhile, nor one for a refused key.

import { expect, test } from "vitest";
import { outageText } from "../../../../src/dispatch/accounts/outage.ts";
import { applyPlan } from "../../../../src/dispatch/batches/apply-plan.ts";
import { plan } from "../../../../src/dispatch/batches/plan.ts";
import { poll } from "../../../../src/dispatch/batches/poll/poll.ts";
import { afterBatchFailure, PAUSE_MS } from "../../../../src/dispatch/batches/submit/after-failure.ts";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { LedgerChanges } from "../../../../src/dispatch/contract/store/ledger-rows.ts";
import type { BatchChanges } from "../../../../src/dispatch/contract/store/rows.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Lease } from "../../../../src/dispatch/runtime/lease/lease.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { batchOf, keyOf, request, sealInput } from "../../../../src/dispatch-testing/conformance/store/case.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { batchCase } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { START } from "../../support/world.ts";

const REFUSED = { code: "invalid_api_key", message: "No." };
const FULL = { kind: "tokenLimit", code: "token_limit", message: "Full.", limitTokens: null } as const;
const MINUTE = 60_000;

/** Leases on two submitted batches of an account with one ledger, which is as given. */
async function submitted(ledger: Omit<LedgerChanges, "name">) {
  const clock = virtualClock(START);
  const store = memoryStore();
  const sim = new SimProvider({ time: clock }).account();
  const retrieve: Account["retrieve"] = async (id) => {
    const none = { expiresAt: null, tag: null, inputFileId: null, total: null, settled: null, failure: null };
    return { id, state: "running", rawState: "in_progress", createdAt: START, resultRefs: [], ...none };
  };
  const account = { ...sim, retrieve };
  const runtime = new Runtime(resolveOptions({ store, accounts: [account], clock }));
  await store.enqueue([request("a"), request("b")], START);
  const place = { account: account.name, ledger: account.name, maxRequests: 1, now: START, leaseUntil: START + MINUTE };
  const leases: Lease[] = [];
  for (const n of [0, 1]) {
    const row = batchOf(await store.seal(sealInput(n, place)));
    const sent = { state: "submitted", providerBatchId: `p${n}`, submitStartedAt: START } as const;
    // Once the ledger is paused, nothing is sealed.
    const ledgers = n === 1 ? [{ name: account.name, ...ledger }] : [];
    await store.transition(keyOf(n), 1, { ...sent, ledgers }, START);
    leases.push(new Lease(runtime, account, { ...row, ...sent }, runtime.clock.monotonic()));
  }
  const [lease, other] = leases as [Lease, Lease];
  return { store, runtime, account, lease, other };
}

const outage = { code: "batch_failed", since: START - 1, pauses: 1, probe: null, holdUntil: START + MINUTE };

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
])("the end of %s leaves a pause that is written meanwhile", async (_name, ledger) => {
  const { store, runtime, account, lease } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  const later = { name: account.name, blockedUntil: START + PAUSE_MS, note: REFUSED.code, strikes: 0 };
  const transition = store.transition.bind(store);
  store.transition = async (key, fence, changes: BatchChanges, now) => {
    await transition(keyOf(1), 1, { ledgers: [later] }, now);
    return transition(key, fence, changes, now);
  };
  await poll(runtime, lease);
  expect((await store.batches({ keys: [keyOf(0)], limit: 1 }))[0]?.state).toBe("running");
  expect(await runtime.ledger(account.name)).toMatchObject(later);
});

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
])("the end of %s is written where nothing else has paused the account", async (_name, ledger) => {
  const { runtime, account, lease } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  await poll(runtime, lease);
  expect(await runtime.ledger(account.name)).toMatchObject({ blockedUntil: 0, strikes: 0, outage: null });
});

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
])("a key that is refused after %s stays paused when an earlier batch runs", async (_name, ledger) => {
  const { runtime, account, lease, other } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  const pausedUntil = START + PAUSE_MS;
  await applyPlan(runtime, other, plan("sealed", pausedUntil, { lastError: REFUSED, pauseAccountUntil: pausedUntil }));
  await poll(runtime, lease);
  expect(await runtime.ledger(account.name)).toMatchObject({ blockedUntil: pausedUntil, note: REFUSED.code });
});

test("nor does a limit that an earlier batch meets end the pause of a refused key", async () => {
  const paused = { blockedUntil: START + PAUSE_MS, note: REFUSED.code };
  const { runtime, account, lease, other } = await submitted(paused);
  const ledger = await runtime.ledger(account.name);
  await applyPlan(runtime, other, afterBatchFailure(batchCase(other.batch, START, { ledger }), FULL));
  await poll(runtime, lease);
  expect(await runtime.ledger(account.name)).toMatchObject(paused);
});
