// Many tenants that come once each, and halves of split batches that return to their own lanes:
// data that stores must drop.

import type { PruneStep } from "../../../src/dispatch/contract/store/pruning.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "./sqlite/folder.ts";

const ROUNDS = 50;

/**
 * Leaves nothing waiting. Each round has a new tenant, and a batch whose members use a new lane.
 */
export async function comeAndGo(store: Store): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const some = requests(4, `${round}-`).map((one) => ({ ...one, tenant: `tenant ${round}` }));
    await store.enqueue(some, NOW);
    const group = `/v1/embeddings ${round}.0 m`;
    await settleAll(store, `${round}a`, sealInput("").lane, group);
    await settleAll(store, `${round}b`, group, null);
  }
}

/** Prunes all that has ended. */
export async function pruneAll(store: Store): Promise<void> {
  const times = { before: NOW, batchesBefore: NOW, now: NOW };
  const statuses = ["succeeded", "failed", "cancelled", "expired"] as const;
  for (let after: number | null = 0; after !== null; ) {
    const step: PruneStep = await store.prune({ ...times, statuses, after, limit: 100 });
    after = step.next;
  }
}

/** Seals all of the lane, and sends it to the next one or ends it. */
async function settleAll(store: Store, key: string, lane: string, next: string | null): Promise<void> {
  const result = await store.seal({ ...sealInput(key), lane });
  if (!result.ok) throw new Error(result.reason);
  const items = Array.from({ length: result.batch.requests }, (_, ord) =>
    next === null
      ? ({ ord, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const)
      : ({ ord, kind: "requeue", code: "c", charged: false, notBefore: NOW, lane: next } as const),
  );
  await store.settle({ key, fence: 1, items, sinks: [], cancelledPayload: "{}", cancelledCode: "c", now: NOW });
}
