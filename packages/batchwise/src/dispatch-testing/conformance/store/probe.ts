// Cases on `probe`, the one read that shows all pending work.

import { deepEqual, ok } from "node:assert/strict";
import {
  claimed,
  final,
  LANE,
  many,
  NOW,
  OK,
  OTHER_LANE,
  refused,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

const NO_BATCHES = {
  ...{ sealed: 0, submitting: 0, unknown: 0, waiting_capacity: 0, submitted: 0 },
  ...{ running: 0, collecting: 0, quarantined: 0, done: 0 },
};

export const probeCases: readonly StoreCase[] = [
  storeCase("finds nothing in a new store", async (store) => {
    deepEqual(await store.probe(10, NOW), {
      ...{ lanes: [], ledgers: [], batches: NO_BATCHES, inBatches: 0, batchDueAt: null },
      outcomes: { succeeded: 0, failed: 0, cancelled: 0, expired: 0 },
      ...{ cursor: 0, deliveriesWaiting: 0, deliveryDueAt: null },
    });
  }),

  storeCase("adds up the ready requests of each lane", async (store) => {
    await store.enqueue(many(3, { bytes: 20, tokens: 4 }), NOW + 7);
    await store.enqueue([request("o", { lane: OTHER_LANE, deadlineAt: NOW + 99 })], NOW);
    await store.enqueue([request("p", { lane: OTHER_LANE, deadlineAt: NOW + 50 })], NOW + 3);
    const { lanes } = await store.probe(100, NOW + 10);
    const none = { deadlineAt: null, deferredUntil: null };
    deepEqual(
      lanes.toSorted((a, b) => a.ready - b.ready),
      [
        {
          ...none,
          lane: OTHER_LANE,
          ready: 2,
          bytes: 200,
          tokens: 20,
          oldestAt: NOW,
          readySince: NOW,
          deadlineAt: NOW + 50,
        },
        { ...none, lane: LANE, ready: 3, bytes: 60, tokens: 12, oldestAt: NOW + 7, readySince: NOW + 7 },
      ],
    );
  }),

  storeCase("counts at least as far as the limit", async (store) => {
    await store.enqueue(many(20, { bytes: 5 }), NOW);
    const [lane] = (await store.probe(8, NOW)).lanes;
    ok(lane !== undefined && lane.ready >= 8 && lane.ready <= 20);
    deepEqual(lane.bytes, lane.ready * 5);
  }),

  storeCase("is exact below the limit, and otherwise at least the limit", async (store) => {
    await store.enqueue(many(1_400, { bytes: 5, tokens: 3 }), NOW);
    await store.enqueue([request("odd", { bytes: 900 }), request("o", { lane: OTHER_LANE })], NOW - 1);
    const of = async (limit: number) =>
      (await store.probe(limit, NOW)).lanes.find(({ lane }) => lane === LANE) ?? { ready: 0, bytes: 0, tokens: 0 };
    const all = await of(1_402);
    deepEqual([all.ready, all.bytes, all.tokens], [1_401, 7_900, 4_210]);
    const some = await of(1_200);
    ok(some.ready >= 1_200 && some.bytes >= 5_900 && some.tokens >= 3_600, "less than the limit");
    const ids = await claimed(store, 1, { maxRequests: 300 });
    await store.amend({ kind: "cancel", ids: ["r300", "r301", "odd"], payload: OK, code: "c" }, [], NOW);
    deepEqual([ids.length, (await of(1_099)).ready >= 1_098, (await of(1_099)).ready], [300, true, 1_098]);
  }),

  storeCase("returns the next notBefore of waiting requests", async (store) => {
    const batch = await sealed(store, 1, 3);
    const items = [requeue(0, { notBefore: NOW + 9 }), requeue(1, { notBefore: NOW + 5 }), final(2)];
    await store.settle(settleInput(batch, items));
    const [lane] = (await store.probe(10, NOW)).lanes;
    deepEqual([lane?.ready, lane?.oldestAt, lane?.deferredUntil], [0, null, NOW + 5]);
    deepEqual(lane?.readySince, null);
    const [later] = (await store.probe(10, NOW + 5)).lanes;
    deepEqual([later?.ready, later?.bytes, later?.oldestAt, later?.deferredUntil], [1, 100, NOW, NOW + 9]);
    const [last] = (await store.probe(10, NOW + 9)).lanes;
    deepEqual([last?.ready, last?.deferredUntil], [2, null]);
  }),

  storeCase("reports since when a lane's requests could be claimed, apart from when they came", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [requeue(0, { notBefore: NOW + 9 }), requeue(1, { notBefore: NOW + 5 })]));
    const [retried] = (await store.probe(10, NOW + 20)).lanes;
    deepEqual([retried?.oldestAt, retried?.readySince], [NOW, NOW + 5]);
    await store.enqueue([request("new")], NOW + 3);
    const [mixed] = (await store.probe(10, NOW + 20)).lanes;
    deepEqual([mixed?.oldestAt, mixed?.readySince], [NOW, NOW + 3]);
  }),

  storeCase("counts requests as ready once they are due, before a seal and after a refused one", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.settle(
      settleInput(
        batch,
        [0, 1, 2].map((ord) => requeue(ord, { notBefore: NOW + 5 + ord })),
      ),
    );
    await store.enqueue([request("late", { bytes: 1, tokens: 1 })], NOW + 1);
    const due = {
      lane: LANE,
      ready: 3,
      bytes: 201,
      tokens: 21,
      oldestAt: NOW,
      readySince: NOW + 1,
      deadlineAt: null,
    };
    deepEqual((await store.probe(10, NOW + 6)).lanes, [{ ...due, deferredUntil: NOW + 7 }]);
    await refused(store, sealInput(2, { minRequests: 9, now: NOW + 6 }), "too_few");
    deepEqual((await store.probe(10, NOW + 6)).lanes, [{ ...due, deferredUntil: NOW + 7 }]);
    const ids = await claimed(store, 3, { maxRequests: 3, now: NOW + 6 });
    deepEqual(ids, ["b1-0", "b1-1", "late"]);
  }),

  storeCase("has no lane left when requests before their notBefore are cancelled, due or not", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [requeue(0, { notBefore: NOW + 5 }), requeue(1, { notBefore: NOW + 9 })]));
    await refused(store, sealInput(2, { minRequests: 9, now: NOW + 5 }), "too_few");
    await store.amend({ kind: "cancel", ids: ["b1-0", "b1-1"], payload: OK, code: "c" }, [], NOW + 5);
    deepEqual((await store.probe(10, NOW + 20)).lanes, []);
    deepEqual(await claimed(store, 3, { now: NOW + 20 }), []);
  }),

  storeCase("counts batches by state, and their open requests", async (store) => {
    for (const n of [1, 2, 3]) await sealed(store, n, 2);
    const [one, two] = [sealInput(1).key, sealInput(2).key];
    await store.settle(settleInput({ ...(await store.batches({ keys: [one], limit: 1 }))[0]! }, [final(0), final(1)]));
    await store.transition(one, 1, { state: "done" }, NOW);
    await store.transition(two, 1, { state: "running" }, NOW);
    const probe = await store.probe(10, NOW);
    deepEqual(probe.batches, { ...NO_BATCHES, done: 1, running: 1, sealed: 1 });
    deepEqual(probe.inBatches, 4);
    await store.transition(two, 1, { state: "quarantined" }, NOW);
    deepEqual((await store.probe(10, NOW)).batches, { ...NO_BATCHES, done: 1, quarantined: 1, sealed: 1 });
    deepEqual((await store.probe(10, NOW)).inBatches, 4);
  }),

  storeCase("reports when the next batch can be leased", async (store) => {
    const batch = await sealed(store, 1, 1);
    deepEqual((await store.probe(10, NOW)).batchDueAt, batch.leaseUntil);
    await store.transition(batch.key, 1, { leaseUntil: 0, nextAt: NOW + 40 }, NOW);
    await sealed(store, 2, 1);
    deepEqual((await store.probe(10, NOW)).batchDueAt, NOW + 40);
    await store.transition(batch.key, 1, { state: "quarantined" }, NOW);
    deepEqual((await store.probe(10, NOW)).batchDueAt, batch.leaseUntil);
  }),

  storeCase("still counts outcomes that a retry has withdrawn", async (store) => {
    await store.enqueue([request("a"), request("b")], NOW);
    await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: "c" }, [], NOW);
    await store.amend(retryOf("a"), [], NOW);
    await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: "c" }, [], NOW);
    await store.amend({ kind: "fail", ids: ["b"], payload: OK, code: "c" }, [], NOW);
    const { outcomes, cursor } = await store.probe(1, NOW);
    deepEqual(outcomes, { succeeded: 0, failed: 1, cancelled: 2, expired: 0 });
    deepEqual(cursor, 3);
  }),
];
