// Cases on times that a wrong clock has written too far ahead: they are made due.

import { deepEqual } from "node:assert/strict";
import { claimed, final, keyOf, NOW, requeue, type StoreCase, sealed, settleInput, storeCase } from "../case.ts";

const DAY = 86_400_000;
const AFTER = NOW + DAY / 2;
const AHEAD = NOW + DAY;
const hasten = { kind: "hasten", after: AFTER } as const;

export const hastenCases: readonly StoreCase[] = [
  storeCase("makes a request due that waits for a time too far ahead, and no other", async (store) => {
    const batch = await sealed(store, 1, 3);
    const items = [
      requeue(0, { notBefore: AHEAD }),
      requeue(1, { notBefore: AFTER }),
      requeue(2, { notBefore: AHEAD }),
    ];
    await store.settle(settleInput(batch, items));
    deepEqual(await store.amend(hasten, [], NOW + 5), []);
    const rows = await store.requests({ ids: ["b1-0", "b1-1", "b1-2"] });
    deepEqual(
      rows.map(({ notBefore }) => notBefore),
      [NOW + 5, AFTER, NOW + 5],
    );
    const [lane] = (await store.probe(10, NOW + 5)).lanes;
    deepEqual([lane?.ready, lane?.deferredUntil], [2, AFTER]);
    deepEqual(await claimed(store, 2, { now: NOW + 5 }), ["b1-0", "b1-2"]);
    deepEqual(await claimed(store, 3, { now: AFTER }), ["b1-1"]);
  }),

  storeCase("makes a request due that was due by a clock which has gone back since", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [requeue(0, { notBefore: AHEAD }), final(1)], { now: AHEAD }));
    deepEqual(await claimed(store, 2, { now: NOW + 5 }), []);
    await store.amend(hasten, [], NOW + 5);
    deepEqual(await claimed(store, 3, { now: NOW + 5 }), ["b1-0"]);
    await store.settle(settleInput({ ...batch, key: keyOf(3), fence: 1 }, [final(0)]));
    deepEqual((await store.probe(10, NOW)).lanes, []);
  }),

  storeCase("makes a batch due and free, and counts its create from now, without a new fence", async (store) => {
    const batch = await sealed(store, 1, 1, { now: AHEAD, leaseUntil: AHEAD + 90_000 });
    const times = { submitStartedAt: AHEAD, unknownSince: AHEAD };
    await store.transition(batch.key, 1, { state: "submitting", nextAt: AHEAD, ...times }, AHEAD);
    await store.transition(batch.key, 1, { state: "unknown" }, AHEAD);
    const take = { owner: "two", accounts: ["openai"], limit: 9, now: NOW + 5, leaseUntil: NOW + 90_000 };
    deepEqual(await store.lease(take), []);
    await store.amend(hasten, [], NOW + 5);
    const [row] = await store.batches({ limit: 1 });
    const { nextAt, leaseUntil, submitStartedAt, unknownSince, fence } = row ?? batch;
    const now = NOW + 5;
    deepEqual([nextAt, leaseUntil, submitStartedAt, unknownSince, fence], [now, now, now, now, 1]);
    deepEqual((await store.probe(1, now)).batchDueAt, now);
    deepEqual(
      (await store.lease(take)).map(({ key }) => key),
      [batch.key],
    );
  }),

  storeCase("keeps times of a batch that are near, and those not given", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.transition(batch.key, 1, { nextAt: AFTER }, NOW);
    const [before] = await store.batches({ limit: 1 });
    await store.amend(hasten, [], NOW + 5);
    deepEqual(await store.batches({ limit: 1 }), [before]);
  }),

  storeCase("frees ledgers and reservations that were blocked for too long", async (store) => {
    const batch = await sealed(store, 1, 1);
    const ledgers = [{ name: "openai/gpt-4o-mini", blockedUntil: AHEAD }];
    await store.transition(batch.key, 1, { releaseAt: AHEAD, ledgers }, NOW);
    await sealed(store, 2, 1, { ledger: "other" });
    await store.amend(hasten, [], NOW + 5);
    const rows = (await store.probe(1, NOW + 5)).ledgers;
    deepEqual(rows.map(({ name, blockedUntil, batches }) => [name, blockedUntil, batches]).sort(), [
      ["openai/gpt-4o-mini", NOW + 5, 0],
      ["other", 0, 1],
    ]);
  }),

  storeCase("makes a delivery due that waits for a time too far ahead", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0), final(1)], { sinks: ["hook"], now: AHEAD }));
    const take = { sinks: ["hook"], limit: 9, leaseUntil: NOW + 90_000 };
    deepEqual(await store.deliveries({ now: NOW + 5, reports: [], take }), []);
    await store.amend(hasten, [], NOW + 5);
    deepEqual((await store.probe(1, NOW)).deliveryDueAt, NOW + 5);
    const taken = await store.deliveries({ now: NOW + 5, reports: [], take });
    deepEqual(
      taken.map(({ outcome, attempt }) => [outcome.cursor, attempt]),
      [
        [1, 1],
        [2, 1],
      ],
    );
    deepEqual(await store.deliveries({ now: NOW + 5, reports: [], take }), []);
    deepEqual(await claimed(store, 2), []);
  }),
];
