// Cases on pruning ended work: what is deleted, what stays, and which facts remain afterwards.

import { deepEqual, ok } from "node:assert/strict";
import type { PruneInput, PruneStep } from "../../../dispatch/contract/store/pruning.ts";
import type { BatchRow } from "../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  batchOf,
  final,
  many,
  NOW,
  OK,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

const ALL = ["succeeded", "failed", "cancelled", "expired"] as const;
/** The lane of a part of a split batch. */
const GROUP = "/v1/chat/completions b1.0 gpt-4o-mini";
const LATER = NOW + 1_000_000;
export const NONE = { requests: 0, batches: 0, kept: 0 };

export function pruneInput(changes: Partial<PruneInput> = {}): PruneInput {
  const times = { before: LATER, batchesBefore: LATER, now: LATER };
  return { ...times, statuses: ALL, after: 0, limit: 100, ...changes };
}

/** The sum of all prune steps until the end. */
export async function pruned(store: Store, changes: Partial<PruneInput> = {}): Promise<Omit<PruneStep, "next">> {
  const sum = { ...NONE };
  let after: number | null = 0;
  for (let steps = 0; after !== null; steps += 1) {
    ok(steps < 1_000, "pruning does not come to its end");
    const step: PruneStep = await store.prune(pruneInput({ ...changes, after }));
    sum.requests += step.requests;
    sum.batches += step.batches;
    sum.kept += step.kept;
    after = step.next;
  }
  return sum;
}

/** Ends waiting requests as cancelled. */
export async function end(
  store: Store,
  ids: readonly string[],
  now: number,
  sinks: readonly string[] = [],
): Promise<void> {
  await store.amend({ kind: "cancel", ids, payload: OK, code: "cancelled" }, sinks, now);
}

async function done(store: Store, batch: BatchRow, now = NOW): Promise<void> {
  const result = await store.transition(batch.key, batch.fence, { state: "done", leaseUntil: 0 }, now);
  ok(result.ok);
}

async function logged(store: Store): Promise<string[]> {
  return (await store.outcomes({ after: 0, limit: 1_000 })).map(({ id }) => id);
}

async function batchKeys(store: Store): Promise<string[]> {
  return (await store.batches({ limit: 100 })).map(({ key }) => key);
}

export const pruneCases: readonly StoreCase[] = [
  storeCase("prunes nothing of a new store, and no open requests", async (store) => {
    deepEqual(await store.prune(pruneInput()), { ...NONE, next: null });
    await sealed(store, 1, 2);
    await store.enqueue(many(2), NOW);
    const before = await store.probe(100, NOW);
    deepEqual(await store.prune(pruneInput()), { ...NONE, next: null });
    deepEqual(await store.probe(100, NOW), before);
    deepEqual((await store.requests({ ids: ["b1-0", "r0"] })).length, 2);
  }),

  storeCase("lowers no count and reuses no cursor", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0), final(1, "failed")]));
    await done(store, batch);
    await store.enqueue([request("a", { job: "j", tenant: "t" })], NOW);
    await end(store, ["a"], NOW);
    const probe = await store.probe(1, LATER);
    const usage = await store.usage({ job: "j" });
    deepEqual(await pruned(store), { ...NONE, requests: 3, batches: 1 });
    deepEqual(await store.probe(1, LATER), probe);
    deepEqual(await store.usage({ job: "j" }), usage);
    await store.enqueue([request("b")], NOW);
    await end(store, ["b"], NOW);
    const outcomes = await store.outcomes({ after: 1, limit: 9 });
    deepEqual(
      outcomes.map(({ cursor, id }) => [cursor, id]),
      [[4, "b"]],
    );
  }),

  storeCase("prunes outcomes recorded at or before a time with one of the statuses", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.settle(settleInput(batch, [final(0), final(1, "failed"), final(2, "expired")]));
    await store.enqueue(many(3), NOW);
    for (const n of [0, 1, 2]) await end(store, [`r${n}`], NOW + n);
    deepEqual((await pruned(store, { before: NOW - 1 })).requests, 0);
    deepEqual((await pruned(store, { before: NOW + 1, statuses: ["cancelled", "expired"] })).requests, 3);
    deepEqual(await logged(store), ["b1-0", "b1-1", "r2"]);
    deepEqual((await pruned(store, { statuses: ["succeeded"] })).requests, 1);
    deepEqual(await logged(store), ["b1-1", "r2"]);
  }),

  storeCase("prunes the log step by step, and stops at recent outcomes", async (store) => {
    await store.enqueue(many(9), NOW);
    for (let n = 0; n < 9; n += 1) await end(store, [`r${n}`], NOW + n);
    const first = await store.prune(pruneInput({ limit: 2, before: NOW + 4 }));
    ok(first.requests >= 1 && first.requests <= 2 && first.next !== null);
    const rest = await pruned(store, { limit: 2, before: NOW + 4 });
    deepEqual(first.requests + rest.requests, 5);
    deepEqual(await logged(store), ["r5", "r6", "r7", "r8"]);
    deepEqual(await pruned(store, { limit: 1 }), { ...NONE, requests: 4 });
    deepEqual(await pruned(store, { limit: 1 }), NONE);
  }),

  storeCase("keeps an outcome until its last delivery is made or given up", async (store) => {
    await store.enqueue(many(4), NOW);
    await end(store, ["r0", "r1", "r2"], NOW, ["one", "two"]);
    await end(store, ["r3"], NOW);
    const take = { sinks: ["one", "two"], limit: 6, leaseUntil: NOW + 1 };
    await store.deliveries({ now: NOW, reports: [], take });
    const report = { attempt: 1, at: NOW, statusCode: 200, error: null, nextAt: NOW + 5 };
    const reports = [
      { ...report, cursor: 1, sink: "one", result: "delivered" },
      { ...report, cursor: 1, sink: "two", result: "dead" },
      { ...report, cursor: 2, sink: "one", result: "delivered" },
      { ...report, cursor: 3, sink: "one", result: "retry" },
    ] as const;
    await store.deliveries({ now: NOW, reports, take: null });
    deepEqual(await pruned(store), { ...NONE, requests: 2, kept: 2 });
    deepEqual(await logged(store), ["r1", "r2"]);
    deepEqual((await store.probe(1, NOW)).deliveriesWaiting, 3);
    deepEqual(await store.outcomes({ after: 0, limit: 9, dead: "two" }), []);
    deepEqual(await store.amend({ kind: "redeliver", sink: "two", after: 0, limit: 9 }, [], NOW), []);
    // A late report of a pruned delivery.
    const late = { ...report, attempt: 2, cursor: 1, sink: "two", result: "retry" } as const;
    await store.deliveries({ now: NOW, reports: [late], take: null });
    const taken = await store.deliveries({ now: NOW + 9, reports: [], take: { ...take, leaseUntil: NOW + 99 } });
    deepEqual(
      taken.map(({ outcome, sink }) => `${outcome.id} ${sink}`),
      ["r1 two", "r2 one", "r2 two"],
    );
  }),

  storeCase("deletes a batch with its orphans once all of its members are deleted", async (store) => {
    const batch = await sealed(store, 1, 3);
    const orphans = [{ providerBatchId: "extra", seenAt: NOW, action: "ended" }] as const;
    await store.transition(batch.key, 1, { providerBatchId: "batch_1", orphans }, NOW);
    await store.settle(settleInput(batch, [final(0), final(1)]));
    deepEqual(await pruned(store), { ...NONE, requests: 2 });
    await store.settle(settleInput(batch, [final(2)], { now: NOW + 5 }));
    deepEqual(await pruned(store), { ...NONE, requests: 1 });
    deepEqual(await batchKeys(store), [batch.key]);
    await done(store, batch);
    deepEqual(await pruned(store), { ...NONE, batches: 1 });
    deepEqual(await batchKeys(store), []);
    deepEqual(await store.batches({ providerBatchIds: ["batch_1", "extra"], limit: 9 }), []);
    deepEqual(await store.transition(batch.key, 1, { state: "running" }, NOW), { ok: false, reason: "fence" });
    const lease = { owner: "o", now: LATER, leaseUntil: LATER, accounts: ["openai"], limit: 9 };
    deepEqual(await store.lease({ ...lease, keys: [batch.key] }), []);
  }),

  storeCase("keeps a batch that a request which stays was ever in", async (store) => {
    const first = await sealed(store, 1, 3);
    await store.settle(settleInput(first, [final(0), requeue(1), final(2, "failed")]));
    await done(store, first);
    const second = batchOf(await store.seal(sealInput(2)));
    await store.settle(settleInput(second, [final(0)], { now: NOW + 50 }));
    await done(store, second);
    deepEqual(await pruned(store, { before: NOW }), { ...NONE, requests: 2 });
    const [row] = await store.requests({ ids: ["b1-1"], history: true });
    deepEqual(row?.history, [{ batchKey: first.key, code: "server_error", at: NOW }]);
    deepEqual(await pruned(store), { ...NONE, requests: 1, batches: 2 });
    deepEqual(await batchKeys(store), []);
  }),

  storeCase("keeps the lane of a part of a split batch as long as a request of it stays", async (store) => {
    const halve = async (batch: BatchRow): Promise<void> => {
      await store.settle(settleInput(batch, [requeue(0, { lane: GROUP }), requeue(1, { lane: GROUP })]));
      await done(store, batch);
    };
    const lanesOf = async (...ids: string[]): Promise<unknown[]> =>
      (await store.requests({ ids })).map(({ state, lane }) => [state, lane]);
    await halve(await sealed(store, 1, 2));
    await end(store, ["b1-0"], NOW);
    deepEqual(await pruned(store), { ...NONE, requests: 1 });
    deepEqual(await lanesOf("b1-1"), [["ready", GROUP]]);
    const part = batchOf(await store.seal(sealInput(2, { lane: GROUP })));
    deepEqual(await pruned(store), NONE);
    deepEqual(await lanesOf("b1-1"), [["claimed", GROUP]]);
    await store.settle(settleInput(part, [final(0)], { now: LATER + 1 }));
    await done(store, part);
    deepEqual(await pruned(store), NONE);
    deepEqual(await lanesOf("b1-1"), [["ended", GROUP]]);
    deepEqual(await pruned(store, { before: LATER + 1 }), { ...NONE, requests: 1, batches: 2 });
    // Everything of it is pruned, so its name may be used again.
    await halve(await sealed(store, 3, 2));
    deepEqual(await lanesOf("b3-0", "b3-1"), [
      ["ready", GROUP],
      ["ready", GROUP],
    ]);
    deepEqual(batchOf(await store.seal(sealInput(4, { lane: GROUP }))).requests, 2);
  }),

  storeCase("requeues requests into the lane of a part while others prune it", async (store, open) => {
    const other = await open();
    for (let n = 1; n <= 20; n += 1) {
      const first = await sealed(store, n, 2);
      const settling = store.settle(settleInput(first, [requeue(0, { lane: GROUP }), requeue(1, { lane: GROUP })]));
      const [settled] = await Promise.all([settling, pruned(other), pruned(other)]);
      ok(settled.ok);
      const part = batchOf(await store.seal(sealInput(100 + n, { lane: GROUP })));
      deepEqual([part.requests, part.lane], [2, GROUP]);
      await Promise.all([store.settle(settleInput(part, [final(0), final(1)])), pruned(other)]);
      await done(store, first);
      await done(store, part);
    }
    await pruned(other);
    deepEqual(await logged(store), []);
  }),

  storeCase("prunes a batch whose request was retried and ended elsewhere", async (store) => {
    const first = await sealed(store, 1, 1);
    await store.settle(settleInput(first, [final(0, "failed")]));
    await done(store, first);
    await store.amend(retryOf("b1-0"), [], NOW);
    deepEqual(await pruned(store), { ...NONE, batches: 1 });
    const second = batchOf(await store.seal(sealInput(2)));
    await store.settle(settleInput(second, [final(0)]));
    await done(store, second);
    deepEqual(await pruned(store), { ...NONE, requests: 1, batches: 1 });
  }),

  storeCase("keeps a batch that is young, leased or books something", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.settle(settleInput(batch, [final(0)]));
    const ending = { state: "done", releaseAt: NOW + 20, leaseUntil: NOW + 30 } as const;
    await store.transition(batch.key, 1, ending, NOW + 10);
    await pruned(store, { batchesBefore: 0 });
    for (const times of [
      { batchesBefore: NOW + 9, now: LATER },
      { batchesBefore: LATER, now: NOW + 19 },
      { batchesBefore: LATER, now: NOW + 29 },
    ]) {
      deepEqual(await pruned(store, times), NONE);
    }
    const [ledger] = (await store.probe(1, NOW + 19)).ledgers;
    deepEqual(ledger?.batches, 1);
    deepEqual(await pruned(store, { batchesBefore: NOW + 10, now: NOW + 30 }), { ...NONE, batches: 1 });
  }),

  storeCase("deletes many batches step by step", async (store) => {
    for (let n = 1; n <= 5; n += 1) {
      const batch = await sealed(store, n, 1);
      await store.settle(settleInput(batch, [final(0)]));
      await done(store, batch);
    }
    deepEqual(await pruned(store, { limit: 2 }), { ...NONE, requests: 5, batches: 5 });
    deepEqual(await batchKeys(store), []);
  }),

  storeCase("prunes each request and batch once when two prune at a time", async (store, open) => {
    const other = await open();
    for (let n = 1; n <= 4; n += 1) {
      const batch = await sealed(store, n, 10);
      const items = Array.from({ length: 10 }, (_, ord) => final(ord));
      await store.settle(settleInput(batch, items));
      await done(store, batch);
    }
    const [one, two] = await Promise.all([pruned(store, { limit: 3 }), pruned(other, { limit: 4 })]);
    const left = await pruned(store);
    deepEqual(one.requests + two.requests + left.requests, 40);
    deepEqual(one.batches + two.batches + left.batches, 4);
    deepEqual(await logged(store), []);
  }),

  storeCase("enqueues, seals and settles while it prunes", async (store) => {
    await store.enqueue(many(200, {}, "old"), NOW);
    const old = Array.from({ length: 200 }, (_, n) => `old${n}`);
    await end(store, old, NOW);
    const pruning = pruned(store, { limit: 10, before: NOW });
    const batch = await sealed(store, 1, 20);
    const settling = store.settle(settleInput(batch, [final(0), requeue(1)], { now: NOW + 1 }));
    const [sum] = await Promise.all([pruning, settling]);
    deepEqual(sum.requests, 200);
    deepEqual(await logged(store), ["b1-0"]);
    deepEqual((await store.probe(1, NOW)).inBatches, 18);
  }),
];
