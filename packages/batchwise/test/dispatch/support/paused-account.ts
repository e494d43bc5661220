// Two submitted batches of one account whose ledger several processes write. This process holds the
// leases; `meanwhile` writes as another one.

import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { PauseEvent } from "../../../src/dispatch/contract/events.ts";
import type { LedgerChanges } from "../../../src/dispatch/contract/store/ledger-rows.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { Lease } from "../../../src/dispatch/runtime/lease/lease.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { batchOf, keyOf, request, sealInput } from "../../../src/dispatch-testing/conformance/store/case.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { SimProvider } from "./simulation/sim-provider.ts";
import { START } from "./world.ts";

const MINUTE = 60_000;

/** Leases on two submitted batches of an account with one ledger, which is as given. */
export async function submitted(ledger: Omit<LedgerChanges, "name">, more: Partial<Account> = {}) {
  const clock = virtualClock(START);
  const store = memoryStore();
  const sim = new SimProvider({ time: clock }).account();
  const retrieve: Account["retrieve"] = async (id) => {
    const none = { expiresAt: null, tag: null, inputFileId: null, total: null, settled: null, failure: null };
    return { id, state: "running", rawState: "in_progress", createdAt: START, resultRefs: [], ...none };
  };
  const capabilities = { ...sim.capabilities, fallback: true };
  const account: Account = { ...sim, capabilities, retrieve, ...more };
  const told: unknown[] = [];
  const onError = (error: unknown): unknown => told.push(error);
  const runtime = new Runtime(
    resolveOptions({ store, accounts: [account, { ...account, name: "spare" }], clock, onError }),
  );
  const pauses: PauseEvent[] = [];
  runtime.events.on("pause", (event) => pauses.push(event));
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
  return { clock, store, runtime, account, lease, other, told, pauses };
}

/** Another process writes this between the next read of the ledger and the next write. */
export function meanwhile(store: Store, ledger: LedgerChanges): void {
  const transition = store.transition.bind(store);
  store.transition = async (key, fence, changes, now) => {
    store.transition = transition;
    await transition(keyOf(1), 1, { ledgers: [ledger] }, now);
    return transition(key, fence, changes, now);
  };
}

/** The next write is made, and its answer is lost. */
export function losesAnswer(store: Store): void {
  const transition = store.transition.bind(store);
  store.transition = async (key, fence, changes, now) => {
    store.transition = transition;
    await transition(key, fence, changes, now);
    throw new Error("lost answer");
  };
}
