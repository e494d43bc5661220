// Cases on the sums by tenant, job and lane.

import { deepEqual } from "node:assert/strict";
import type { Settlement } from "../../../dispatch/contract/store/outcome-rows.ts";
import type { BatchRow, UsageQuery, UsageRow } from "../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  batchOf,
  ended,
  LANE,
  many,
  NOW,
  OK,
  OTHER_LANE,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

const TOKENS = { inputTokens: 100, cachedTokens: 40, outputTokens: 7, reasoningTokens: 3 };
const NOTHING = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
const NONE = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };

async function sums(store: Store, query: UsageQuery = {}): Promise<UsageRow[]> {
  const rows = await store.usage(query);
  const name = ({ tenant, job, lane }: UsageRow): string => JSON.stringify([tenant, job, lane]);
  return rows.toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
}

function counted(ord: number, changes: Parameters<typeof ended>[1] = {}): Settlement {
  return ended(ord, { status: "succeeded", usage: TOKENS, ...changes });
}

export const usageCases: readonly StoreCase[] = [
  storeCase("has no sums in a new store, and counts no enqueue without a job", async (store) => {
    deepEqual(await sums(store), []);
    await store.enqueue([request("a", { tenant: "t" })], NOW);
    deepEqual(await sums(store, { tenant: "t" }), []);
  }),

  storeCase("counts the requests of a job once, however often they are enqueued", async (store) => {
    await store.enqueue(many(2, { job: "j", tenant: "t" }), NOW);
    await store.enqueue([...many(2, { job: "j", tenant: "t" }), request("x", { job: "j", lane: OTHER_LANE })], NOW);
    await store.enqueue([request("r0", { job: "j", digest: "another" })], NOW);
    deepEqual(await sums(store), [
      { tenant: "", job: "j", lane: OTHER_LANE, requests: 1, ended: NONE, ...NOTHING },
      { tenant: "t", job: "j", lane: LANE, requests: 2, ended: NONE, ...NOTHING },
    ]);
  }),

  storeCase("adds up endings and tokens by tenant, job and lane", async (store) => {
    await store.enqueue([request("a", { job: "j" }), request("b", { job: "j" }), request("c", { tenant: "t" })], NOW);
    await store.enqueue([request("d", { job: "j" }), request("e"), request("f", { job: "j", deadlineAt: NOW })], NOW);
    const batch = batchOf(await store.seal(sealInput(1, { maxRequests: 4 })));
    const items = [counted(0), counted(1), counted(2, { status: "failed", code: "bad" }), requeue(3)];
    await store.settle(settleInput(batch, items));
    await store.settle(settleInput(batch, items));
    await store.amend({ kind: "cancel", ids: ["e"], payload: OK, code: "c" }, [], NOW);
    await store.amend({ kind: "expire", limit: 9, payload: OK, code: "x" }, [], NOW);
    const twice = { inputTokens: 200, cachedTokens: 80, outputTokens: 14, reasoningTokens: 6 };
    const ofJob = { tenant: "", job: "j", lane: LANE, requests: 4, ...twice };
    const all = [
      { tenant: "", job: "", lane: LANE, requests: 0, ended: { ...NONE, cancelled: 1 }, ...NOTHING },
      { ...ofJob, ended: { succeeded: 1, failed: 1, cancelled: 0, expired: 1 } },
      { tenant: "t", job: "", lane: LANE, requests: 0, ended: { ...NONE, succeeded: 1 }, ...TOKENS },
    ];
    deepEqual(await sums(store), all);
    deepEqual(await sums(store, { job: "j" }), [all[1]]);
    deepEqual(await sums(store, { tenant: "t" }), [all[2]]);
    deepEqual(await sums(store, { tenant: "", job: "" }), [all[0]]);
    deepEqual(await sums(store, { tenant: "t", job: "j" }), []);
  }),

  storeCase("counts a retried request again, and never lowers a count", async (store) => {
    await store.enqueue([request("a", { job: "j" })], NOW);
    const batch = batchOf(await store.seal(sealInput(1)));
    await store.settle(settleInput(batch, [counted(0, { status: "failed", code: "bad" })]));
    await store.amend(retryOf("a"), [], NOW);
    const [row] = await sums(store, { job: "j" });
    deepEqual([row?.requests, row?.ended, row?.inputTokens], [2, { ...NONE, failed: 1 }, 100]);
    await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: "c" }, [], NOW);
    const [last] = await sums(store, { job: "j" });
    deepEqual([last?.requests, last?.ended], [2, { ...NONE, failed: 1, cancelled: 1 }]);
  }),

  storeCase("counts a request that is retried in another lane for each of the two", async (store) => {
    await store.enqueue([request("a", { job: "j" })], NOW);
    const failed = counted(0, { status: "failed", code: "bad" });
    await store.settle(settleInput(batchOf(await store.seal(sealInput(1))), [failed]));
    await store.amend({ kind: "retry", ids: ["a"], lanes: [OTHER_LANE] }, [], NOW);
    await store.settle(settleInput(batchOf(await store.seal(sealInput(2, { lane: OTHER_LANE }))), [counted(0)]));
    const row = { tenant: "", job: "j", requests: 1, ...TOKENS };
    deepEqual(await sums(store), [
      { ...row, lane: LANE, ended: { ...NONE, failed: 1 } },
      { ...row, lane: OTHER_LANE, ended: { ...NONE, succeeded: 1 } },
    ]);
  }),

  storeCase("counts parts of a split batch for the lane that it was of", async (store) => {
    await store.enqueue(many(4, { job: "j", tenant: "t" }), NOW);
    const whole = batchOf(await store.seal(sealInput(1)));
    const parts = ["b1.0", "b1.1"].map((group) => `/v1/chat/completions ${group} gpt-4o-mini`);
    const items = [0, 1, 2, 3].map((ord) => requeue(ord, { lane: parts[ord % 2] as string }));
    await store.settle(settleInput(whole, items));
    const part = batchOf(await store.seal(sealInput(2, { lane: parts[0] as string })));
    await store.settle(settleInput(part, [counted(0), counted(1, { status: "failed", code: "bad" })]));
    await store.amend({ kind: "cancel", ids: ["r1"], payload: OK, code: "c" }, [], NOW);
    await store.amend({ kind: "retry", ids: ["r1"], lanes: [parts[1] as string] }, [], NOW);
    const twice = { inputTokens: 200, cachedTokens: 80, outputTokens: 14, reasoningTokens: 6 };
    const endings = { ...NONE, succeeded: 1, failed: 1, cancelled: 1 };
    deepEqual(await sums(store), [{ tenant: "t", job: "j", lane: LANE, requests: 5, ended: endings, ...twice }]);
  }),

  storeCase("counts requeued requests with a pending cancel as cancelled", async (store) => {
    await store.enqueue([request("a", { job: "j" })], NOW);
    const batch = batchOf(await store.seal(sealInput(1)));
    await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: "c" }, [], NOW);
    await store.settle(settleInput(batch, [requeue(0)]));
    const [row] = await sums(store, { job: "j" });
    deepEqual(row?.ended, { ...NONE, cancelled: 1 });
    const [outcome] = await store.outcomes({ after: 0, limit: 1 });
    deepEqual([outcome?.code, outcome?.batchKey], ["cancelled", batch.key]);
  }),

  storeCase("counts requests that two processes enqueue and end at the same time", async (store, open) => {
    const stores = [store, await open()];
    const part = (n: number) => many(40, { job: "j", tenant: `t${n % 3}` }, `p${n}-`);
    await Promise.all([0, 1, 2, 3, 4, 5].map((n) => stores[n % 2]?.enqueue(part(n), NOW)));
    const batches: BatchRow[] = [];
    for (const n of [1, 2]) batches.push(batchOf(await store.seal(sealInput(n, { maxRequests: 100 }))));
    await Promise.all(
      batches.map(async (batch, n) => {
        const items = Array.from({ length: batch.requests }, (_, ord) => counted(ord));
        await stores[1 - n]?.settle(settleInput(batch, items));
      }),
    );
    const rows = await sums(store, { job: "j" });
    const total = (pick: (row: UsageRow) => number): number => rows.reduce((sum, row) => sum + pick(row), 0);
    deepEqual([total((row) => row.requests), total((row) => row.ended.succeeded)], [240, 200]);
    deepEqual(
      total((row) => row.inputTokens),
      20_000,
    );
  }),
];
