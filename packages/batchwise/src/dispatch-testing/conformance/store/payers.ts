// Cases for payers: limits that all processes share, reservations at sealing, what answers cost.

import { deepEqual, equal } from "node:assert/strict";
import type { SealInput } from "../../../dispatch/contract/store/calls.ts";
import type { Settlement } from "../../../dispatch/contract/store/outcome-rows.ts";
import type { PayerRow } from "../../../dispatch/contract/store/payers.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  batchOf,
  final,
  LANE,
  many,
  NOW,
  OTHER_LANE,
  request,
  requeue,
  type StoreCase,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

const JOB = "job";
const TENANT = "tenant";

function limit(store: Store, amount: number, name = JOB): Promise<readonly PayerRow[]> {
  return store.payers([{ name, limit: amount, spent: 0 }], []);
}

async function payer(store: Store, name = JOB): Promise<PayerRow | undefined> {
  return (await store.payers([], [name]))[0];
}

async function figures(store: Store, name = JOB): Promise<readonly [spent: number, reserved: number]> {
  const row = await payer(store, name);
  return [row?.spent ?? -1, row?.reserved ?? -1];
}

function paidSeal(n: number, changes: Partial<SealInput> = {}): SealInput {
  return sealInput(n, { payers: [JOB], ...changes });
}

/** Four requests of 100, 50, 30 and 20. */
async function enqueued(store: Store): Promise<void> {
  await store.enqueue(
    [100, 50, 30, 20].map((price, n) => request(`r${n}`, { price })),
    NOW,
  );
}

export const payerCases: readonly StoreCase[] = [
  storeCase("payers are known once they have a limit, and only the limit changes", async (store) => {
    equal(await payer(store), undefined);
    deepEqual(await store.payers([{ name: JOB, limit: 500, spent: 40 }], []), [
      { name: JOB, limit: 500, spent: 40, reserved: 0 },
    ]);
    await store.payers([{ name: JOB, limit: Infinity, spent: 7 }], []);
    deepEqual(await store.payers([], [JOB, JOB, "unknown"]), [{ name: JOB, limit: Infinity, spent: 40, reserved: 0 }]);
  }),

  storeCase("a seal for payers takes as many requests as they can pay, in order, and reserves them", async (store) => {
    await limit(store, 155);
    await enqueued(store);
    const batch = batchOf(await store.seal(paidSeal(1)));
    equal(batch.requests, 2);
    deepEqual(await figures(store), [0, 150]);
    // The next one costs 30 and 5 are left, although a later one would be cheaper.
    deepEqual(await store.seal(paidSeal(2)), {
      ok: false,
      reason: "price_limit",
      head: { id: "r2", bytes: 100, tokens: 10 },
    });
    deepEqual(await figures(store), [0, 150]);
    await limit(store, 200);
    equal(batchOf(await store.seal(paidSeal(3))).requests, 2);
    deepEqual(await figures(store), [0, 200]);
  }),

  storeCase("a repeated seal reserves nothing more", async (store) => {
    await limit(store, 1_000);
    await enqueued(store);
    for (let times = 0; times < 2; times += 1) batchOf(await store.seal(paidSeal(1, { maxRequests: 2 })));
    deepEqual(await figures(store), [0, 150]);
  }),

  storeCase("a payer that is not known pays nothing", async (store) => {
    await enqueued(store);
    const refused = await store.seal(paidSeal(1));
    equal(refused.ok ? "" : refused.reason, "price_limit");
  }),

  storeCase("of several payers the least decides, and each reserves the same", async (store) => {
    await limit(store, 1_000);
    await limit(store, 160, TENANT);
    await enqueued(store);
    equal(batchOf(await store.seal(paidSeal(1, { payers: [JOB, TENANT] }))).requests, 2);
    deepEqual(
      [await figures(store), await figures(store, TENANT)],
      [
        [0, 150],
        [0, 150],
      ],
    );
  }),

  storeCase("lanes of one payer share its limit", async (store) => {
    await limit(store, 150);
    await store.enqueue([request("a", { price: 100 }), request("b", { price: 60, lane: OTHER_LANE })], NOW);
    batchOf(await store.seal(paidSeal(1)));
    const refused = await store.seal(paidSeal(2, { lane: OTHER_LANE, ledger: "other" }));
    equal(refused.ok ? "" : refused.reason, "price_limit");
  }),

  storeCase(
    "with fewer than minRequests that can be paid, a seal claims nothing; sizes to avoid hold",
    async (store) => {
      await limit(store, 180);
      await enqueued(store);
      const short = await store.seal(paidSeal(1, { minRequests: 4 }));
      equal(short.ok ? "" : short.reason, "price_limit");
      const few = await store.seal(paidSeal(2, { minRequests: 5 }));
      equal(few.ok ? "" : few.reason, "too_few");
      equal(batchOf(await store.seal(paidSeal(3, { avoidCounts: [3] }))).requests, 2);
      deepEqual(await figures(store), [0, 150]);
    },
  ),

  storeCase(
    "the cost of the first minRequests is checked before the number that fits under the caps",
    async (store) => {
      await limit(store, 180);
      await enqueued(store);
      const small = { maxBytes: 200 };
      const short = await store.seal(paidSeal(1, { ...small, minRequests: 4 }));
      equal(short.ok ? "" : short.reason, "price_limit");
      const few = await store.seal(paidSeal(2, { ...small, minRequests: 3 }));
      equal(few.ok ? "" : few.reason, "too_few");
      equal(batchOf(await store.seal(paidSeal(3, { ...small, minRequests: 2 }))).requests, 2);
    },
  ),

  storeCase("a settle books the cost of its items; the last one releases the reservation", async (store) => {
    await limit(store, 1_000);
    await enqueued(store);
    const batch = batchOf(await store.seal(paidSeal(1)));
    const items: Settlement[] = [
      { ...final(0), price: 70 },
      { ...requeue(1), price: 5 },
      { ...final(2), price: "share" },
    ];
    await store.settle(settleInput(batch, items));
    deepEqual(await figures(store), [125, 200]);
    // Repeated ones count for nothing.
    await store.settle(settleInput(batch, items));
    deepEqual(await figures(store), [125, 200]);
    await store.settle(settleInput(batch, [final(3)]));
    deepEqual(await figures(store), [125, 0]);
    await store.settle(settleInput(batch, [final(3)]));
    deepEqual(await figures(store), [125, 0]);
    // The returned request is reserved again.
    batchOf(await store.seal(paidSeal(2)));
    deepEqual(await figures(store), [125, 50]);
  }),

  storeCase("a settle with an old fence books nothing", async (store) => {
    await limit(store, 1_000);
    await enqueued(store);
    const batch = batchOf(await store.seal(paidSeal(1)));
    await store.settle({ ...settleInput(batch, [{ ...final(0), price: 70 }]), fence: batch.fence + 1 });
    deepEqual(await figures(store), [0, 200]);
  }),

  storeCase("a correction changes the reservation of a request", async (store) => {
    await limit(store, 1_000);
    await store.enqueue([request("a", { price: 100 })], NOW);
    const batch = batchOf(await store.seal(paidSeal(1)));
    await store.settle(settleInput(batch, [final(0, "failed")]));
    const correction = { digest: "other", bytes: 100, tokens: 10, body: "{}", price: 30 };
    await store.amend({ kind: "retry", ids: ["a"], lanes: [LANE], corrections: [correction] }, [], NOW);
    batchOf(await store.seal(paidSeal(2)));
    deepEqual(await figures(store), [0, 30]);
  }),

  storeCase("batches without payers reserve and cost nothing", async (store) => {
    await limit(store, 10);
    await store.enqueue(many(3), NOW);
    const batch = batchOf(await store.seal(sealInput(1)));
    equal(batch.requests, 3);
    await store.settle(settleInput(batch, [final(0), final(1), final(2)]));
    deepEqual(await figures(store), [0, 0]);
  }),

  storeCase("concurrent seals of several stores never reserve more than the limit", async (store, open) => {
    const other = await open();
    await limit(store, 500);
    for (const lane of [LANE, OTHER_LANE]) await store.enqueue(many(20, { price: 50, lane }, lane), NOW);
    const seals = Array.from({ length: 8 }, (_, n) => {
      const lane = n % 2 === 0 ? LANE : OTHER_LANE;
      return (n % 4 < 2 ? store : other).seal(paidSeal(n, { lane, ledger: `ledger${n}`, maxRequests: 3 }));
    });
    const sealed = (await Promise.all(seals)).flatMap((result) => (result.ok ? result.batch.requests : []));
    const [, reserved] = await figures(store);
    equal(reserved, 50 * sealed.reduce((sum, requests) => sum + requests, 0));
    equal(reserved, 500);
  }),
];
