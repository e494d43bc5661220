// Cases on durability: closing the store and finding everything again.

import { deepEqual } from "node:assert/strict";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  final,
  many,
  memberIds,
  NOW,
  rejected,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

async function everything(store: Store): Promise<unknown[]> {
  const ids = ["b1-0", "b1-1", "b1-2", "r0", "r1"];
  return [
    await store.probe(100, NOW),
    await store.requests({ ids, bodies: true, history: true }),
    await store.outcomes({ after: 0, limit: 100, deliveries: true }),
    await store.batches({ limit: 100 }),
    await memberIds(store, sealInput(1).key),
  ];
}

export const lastingCases: readonly StoreCase[] = [
  storeCase("rejects every call after close with CLOSED, and closes twice without complaint", async (store) => {
    await store.enqueue([request("a")], NOW);
    await store.close();
    await store.close();
    await rejected(store.enqueue([request("b")], NOW), "CLOSED");
    await rejected(store.amend(retryOf(), [], NOW), "CLOSED");
    await rejected(store.probe(1, NOW), "CLOSED");
    await rejected(store.seal(sealInput(1)), "CLOSED");
    const lease = { owner: "o", now: NOW, leaseUntil: NOW, accounts: [], limit: 1 };
    await rejected(store.lease(lease), "CLOSED");
    await rejected(store.transition("k", 1, {}, NOW), "CLOSED");
    await rejected(store.requests({ ids: [] }), "CLOSED");
    const settle = { key: "k", fence: 1, items: [], sinks: [], cancelledPayload: "{}", cancelledCode: "c", now: NOW };
    await rejected(store.settle(settle), "CLOSED");
    await rejected(store.outcomes({ after: 0, limit: 1 }), "CLOSED");
    await rejected(store.deliveries({ now: NOW, reports: [], take: null }), "CLOSED");
    await rejected(store.batches({ limit: 1 }), "CLOSED");
    const times = { before: NOW, batchesBefore: NOW, now: NOW };
    await rejected(store.prune({ ...times, statuses: [], after: 0, limit: 1 }), "CLOSED");
  }),

  storeCase("answers calls that were made before close", async (store) => {
    const call = store.enqueue(many(3), NOW);
    await Promise.all([call, store.close()]);
    deepEqual(await call, ["stored", "stored", "stored"]);
  }),

  {
    name: "finds everything again after it was closed",
    durable: true,
    run: async (open) => {
      const store = await open();
      const batch = await sealed(store, 1, 3);
      await store.enqueue(many(2, { metadata: '{"a":"b"}', tenant: "t" }), NOW);
      await store.settle(settleInput(batch, [final(0), requeue(1)], { sinks: ["hook"] }));
      await store.transition(batch.key, 1, { state: "running", providerBatchId: "batch_1" }, NOW);
      const before = await everything(store);
      await store.close();
      const again = await open();
      deepEqual(await everything(again), before);
      deepEqual(await again.enqueue([request("r0"), request("new")], NOW), ["same", "stored"]);
    },
  },
];
