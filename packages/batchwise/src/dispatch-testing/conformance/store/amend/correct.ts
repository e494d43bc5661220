// Cases on retries with a corrected body.

import { deepEqual } from "node:assert/strict";
import type { NewRequest } from "../../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../../dispatch/contract/store/store.ts";
import {
  claimed,
  ended,
  final,
  keyOf,
  LANE,
  NOW,
  OK,
  OTHER_LANE,
  request,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "../case.ts";

const BODY = '{"input":"corrected"}';

/** Retries a request with another body: its digest, 30 tokens and 300 bytes. */
function correct(store: Store, id: string, digest = "corrected", lane = LANE) {
  const corrections = [{ digest, bytes: 300, tokens: 30, body: BODY }];
  return store.amend({ kind: "retry", ids: [id], lanes: [lane], corrections }, [], NOW + 5);
}

function enqueued(store: Store, id: string, digest: string, changes: Partial<NewRequest> = {}) {
  return store.enqueue([request(id, { digest, ...changes })], NOW);
}

export const correctCases: readonly StoreCase[] = [
  storeCase("retries with a corrected body, in the lane of that, with its bytes and tokens", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0, "failed"), final(1)]));
    deepEqual(await correct(store, "b1-0", "corrected", OTHER_LANE), [{ id: "b1-0", result: "changed" }]);
    deepEqual(await correct(store, "b1-1"), [{ id: "b1-1", result: "ended" }]);
    deepEqual(await correct(store, "none"), [{ id: "none", result: "not_found" }]);
    const [row, other] = await store.requests({ ids: ["b1-0", "b1-1"], bodies: true });
    deepEqual([row?.state, row?.lane, row?.bytes, row?.tokens, row?.body], ["ready", OTHER_LANE, 300, 30, BODY]);
    deepEqual([row?.attempts, row?.generation, other?.body], [0, 1, '{"input":"b1-1"}']);
    const [lane] = (await store.probe(10, NOW + 5)).lanes;
    deepEqual([lane?.lane, lane?.bytes, lane?.tokens], [OTHER_LANE, 300, 30]);
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE, now: NOW + 5 }), ["b1-0"]);
  }),

  storeCase("recognises a request by its first and each corrected body, also when it is pruned", async (store) => {
    await enqueued(store, "a", "first");
    const change = { kind: "cancel", ids: ["a"], payload: OK, code: "c" } as const;
    for (const digest of ["second", "third", "second"]) {
      await store.amend(change, [], NOW + 1);
      await correct(store, "a", digest);
    }
    for (const digest of ["first", "second", "third"]) deepEqual(await enqueued(store, "a", digest), ["same"]);
    for (const digest of ["fourth", "", "fir"]) {
      deepEqual(await enqueued(store, "a", digest), ["conflict"]);
    }
    await store.amend(change, [], NOW + 1);
    const old = {
      before: NOW + 9,
      batchesBefore: NOW,
      statuses: ["cancelled"],
      after: 0,
      limit: 9,
      now: NOW,
    } as const;
    deepEqual((await store.prune(old)).requests, 1);
    deepEqual(await enqueued(store, "a", "first"), ["same"]);
    deepEqual(await enqueued(store, "a", "third"), ["same"]);
    deepEqual(await enqueued(store, "a", "fourth"), ["conflict"]);
  }),

  storeCase(
    "keeps the ending of a corrected request as its history, and its batch until it is pruned",
    async (store) => {
      const batch = await sealed(store, 1, 1);
      await store.settle(settleInput(batch, [ended(0, { code: "bad" })], { now: NOW + 1 }));
      await store.transition(batch.key, 1, { state: "done", leaseUntil: 0 }, NOW + 1);
      await correct(store, "b1-0");
      await store.amend({ kind: "cancel", ids: ["b1-0"], payload: OK, code: "c" }, [], NOW + 6);
      await correct(store, "b1-0", "again");
      const [row] = await store.requests({ ids: ["b1-0"], history: true });
      deepEqual(row?.history, [
        { batchKey: keyOf(1), code: "bad", at: NOW + 1 },
        { batchKey: null, code: "c", at: NOW + 6 },
      ]);
      const late = { before: NOW + 99, batchesBefore: NOW + 99, after: 0, limit: 9, now: NOW + 99_000_000 };
      const statuses = ["succeeded", "failed", "cancelled"] as const;
      deepEqual((await store.prune({ ...late, statuses })).batches, 0);
      const second = await store.seal(sealInput(2, { now: NOW + 5 }));
      if (second.ok) await store.settle(settleInput(second.batch, [final(0)], { now: NOW + 7 }));
      await store.transition(keyOf(2), 1, { state: "done", leaseUntil: 0 }, NOW + 7);
      let [requests, batches] = [0, 0];
      for (let after: number | null = 0; after !== null; ) {
        const step = await store.prune({ ...late, statuses, after });
        [requests, batches, after] = [requests + step.requests, batches + step.batches, step.next];
      }
      deepEqual([requests, batches], [1, 2]);
    },
  ),

  storeCase("keeps each ending of a request that is corrected more than once outside of a batch", async (store) => {
    await enqueued(store, "a", "first");
    for (const [n, digest] of ["second", "third", "fourth"].entries()) {
      await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: `c${n}` }, [], NOW);
      await correct(store, "a", digest);
    }
    const [row] = await store.requests({ ids: ["a"], history: true });
    deepEqual(
      row?.history,
      [0, 1, 2].map((n) => ({ batchKey: null, code: `c${n}`, at: NOW })),
    );
  }),
];
