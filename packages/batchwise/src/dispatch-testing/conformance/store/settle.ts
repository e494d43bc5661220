// Cases on settling the members of a batch, and on the log that this writes.

import { deepEqual, ok } from "node:assert/strict";
import type { OutcomeRow } from "../../../dispatch/contract/store/outcome-rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  batchOf,
  ended,
  final,
  keyOf,
  many,
  memberIds,
  NOW,
  OK,
  OTHER_LANE,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

async function log(store: Store, after = 0, limit = 1_000): Promise<readonly OutcomeRow[]> {
  return store.outcomes({ after, limit });
}

const decisionCases: readonly StoreCase[] = [
  storeCase("ends requests with an outcome under the next cursors, in the order given", async (store) => {
    await store.enqueue([request("a", { tenant: "t", metadata: '{"m":"1"}' }), request("b"), request("c")], NOW);
    const batch = batchOf(await store.seal(sealInput(1)));
    const items = [final(2, "failed", true), final(0, "succeeded", false)];
    const settled = await store.settle(settleInput(batch, items, { now: NOW + 5 }));
    deepEqual(settled, { ok: true, applied: 2, ignored: 0, remaining: 1 });
    const place = { job: "", batchKey: batch.key, code: null, recordedAt: NOW + 5 };
    const common = { ...place, payload: OK, generation: 0, deliveries: null };
    deepEqual(await log(store), [
      { ...common, cursor: 1, id: "c", status: "failed", attempts: 1, tenant: "", metadata: null },
      { ...common, cursor: 2, id: "a", status: "succeeded", attempts: 0, tenant: "t", metadata: '{"m":"1"}' },
    ]);
    const [row] = await store.requests({ ids: ["a"] });
    deepEqual([row?.state, row?.batchKey, row?.ord, row?.attempts], ["ended", null, null, 0]);
    deepEqual(await memberIds(store, keyOf(1)), ["b"]);
    deepEqual((await store.batches({ limit: 1 }))[0]?.remaining, 1);
  }),

  storeCase("changes nothing when a call is repeated", async (store) => {
    const batch = await sealed(store, 1, 3);
    const input = settleInput(batch, [final(0), requeue(1)], { sinks: ["hook"] });
    await store.settle(input);
    const before = await store.probe(10, NOW);
    deepEqual(await store.settle(input), { ok: true, applied: 0, ignored: 2, remaining: 1 });
    deepEqual(await store.probe(10, NOW), before);
    deepEqual((await log(store)).length, 1);
  }),

  storeCase("ignores places that were never there and decides a place once", async (store) => {
    const batch = await sealed(store, 1, 2);
    const items = [final(0, "succeeded"), final(7), final(0, "failed"), final(-1), requeue(0)];
    deepEqual(await store.settle(settleInput(batch, items)), { ok: true, applied: 1, ignored: 4, remaining: 1 });
    deepEqual(
      (await log(store)).map(({ id, status }) => [id, status]),
      [["b1-0", "succeeded"]],
    );
  }),

  storeCase("settles nothing under an old fence or an unknown key", async (store) => {
    const batch = await sealed(store, 1, 1);
    const { leaseUntil } = batch;
    await store.lease({ owner: "two", now: leaseUntil, leaseUntil, accounts: ["openai"], limit: 1 });
    const refused = { ok: false, reason: "fence" };
    deepEqual(await store.settle(settleInput(batch, [final(0)])), refused);
    deepEqual(await store.settle(settleInput({ ...batch, key: keyOf(5) }, [final(0)])), refused);
    deepEqual(await memberIds(store, batch.key), ["b1-0"]);
    deepEqual((await store.settle(settleInput({ ...batch, fence: 2 }, [final(0)]))).ok, true);
  }),

  storeCase("requeues into the lane that is named, with its history", async (store) => {
    const first = await sealed(store, 1, 2);
    const item = requeue(0, { lane: OTHER_LANE, notBefore: NOW + 7, code: "rate_limited" });
    const input = settleInput(first, [item, requeue(1, { charged: false })], { now: NOW + 3 });
    deepEqual(await store.settle(input), { ok: true, applied: 2, ignored: 0, remaining: 0 });
    const rows = await store.requests({ ids: ["b1-0", "b1-1"], history: true });
    deepEqual(
      rows.map(({ state, lane, notBefore, attempts, batchKey, ord }) => [
        state,
        lane,
        notBefore,
        attempts,
        batchKey,
        ord,
      ]),
      [
        ["ready", OTHER_LANE, NOW + 7, 1, null, null],
        ["ready", sealInput(1).lane, NOW, 0, null, null],
      ],
    );
    deepEqual(rows[0]?.history, [{ batchKey: keyOf(1), code: "rate_limited", at: NOW + 3 }]);
    const second = batchOf(await store.seal(sealInput(2, { lane: OTHER_LANE, now: NOW + 7 })));
    await store.settle(settleInput(second, [requeue(0, { code: "again" })], { now: NOW + 9 }));
    const [again] = await store.requests({ ids: ["b1-0"], history: true });
    deepEqual(
      again?.history?.map(({ code }) => code),
      ["rate_limited", "again"],
    );
    deepEqual(again?.attempts, 2);
  }),

  storeCase("keeps the turns of a requeue beside the body, and its new size, until a correction", async (store) => {
    const first = await sealed(store, 1, 2);
    const appended = { turns: '{"turns":["é"]}', bytes: 400, tokens: 40 };
    await store.settle(settleInput(first, [requeue(0, { appended }), requeue(1)]));
    const read = async () => {
      const rows = await store.requests({ ids: ["b1-0", "b1-1"], bodies: true });
      return rows.map(({ body, turns, bytes, tokens }) => ({ body, turns, bytes, tokens }));
    };
    const plain = request("b1-1", { body: '{"input":"b1-1"}' });
    const other = { body: plain.body, turns: null, bytes: plain.bytes, tokens: plain.tokens };
    deepEqual(await read(), [{ ...appended, body: '{"input":"b1-0"}' }, other]);
    deepEqual((await store.requests({ ids: ["b1-0"] }))[0]?.turns, null);
    const second = batchOf(await store.seal(sealInput(2)));
    deepEqual([second.bytes, second.tokens], [400 + plain.bytes, 40 + plain.tokens]);
    const [member] = await store.requests({ batchKey: second.key, fromOrd: 0, limit: 1, bodies: true });
    deepEqual(member?.turns, appended.turns);
    await store.settle(settleInput(second, [requeue(0), ended(1, {})]));
    deepEqual((await read())[0]?.turns, appended.turns);
    const third = batchOf(await store.seal(sealInput(3)));
    await store.settle(settleInput(third, [ended(0, {})]));
    await store.amend(retryOf("b1-0"), [], NOW);
    deepEqual((await read())[0]?.turns, appended.turns);
    await store.amend({ kind: "fail", ids: ["b1-0"], payload: "{}", code: "c" }, [], NOW);
    const corrections = [{ digest: "new", bytes: 300, tokens: 30, body: "{}" }];
    await store.amend({ kind: "retry", ids: ["b1-0"], lanes: [first.lane], corrections }, [], NOW);
    const plainAgain = { turns: null, bytes: 300, tokens: 30 };
    deepEqual((await read())[0], { body: "{}", ...plainAgain });
    const fourth = batchOf(await store.seal(sealInput(4)));
    const places = await store.requests({ batchKey: fourth.key, fromOrd: 0, limit: 2 });
    const ord = places.findIndex(({ id }) => id === "b1-0");
    await store.settle(settleInput(fourth, [requeue(ord, { appended })]));
    const fifth = batchOf(await store.seal(sealInput(5)));
    await store.settle(settleInput(fifth, [requeue(0, { appended: plainAgain })]));
    deepEqual((await read())[0], { body: "{}", ...plainAgain });
  }),

  storeCase("ends a requeued request with a pending cancel", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.amend({ kind: "cancel", ids: ["b1-0", "b1-1"], payload: "{}", code: "c" }, [], NOW);
    await store.settle(settleInput(batch, [requeue(0), final(1)]));
    const rows = await log(store);
    deepEqual(
      rows.map(({ id, status, payload, attempts }) => [id, status, payload, attempts]),
      [
        ["b1-0", "cancelled", '{"cancelled":true}', 1],
        ["b1-1", "succeeded", OK, 1],
      ],
    );
    const [row] = await store.batches({ limit: 1 });
    deepEqual([row?.remaining, row?.cancelRequested], [0, 0]);
    const [ended] = await store.requests({ ids: ["b1-0"], history: true });
    deepEqual([ended?.history, ended?.cancelRequested], [[], false]);
  }),

  storeCase("settles the largest batch in chunks", async (store) => {
    const count = 3_000;
    const batch = await sealed(store, 1, count);
    for (let from = 0; from < count; from += 1_000) {
      const items = Array.from({ length: 1_000 }, (_, n) => final(from + n));
      deepEqual((await store.settle(settleInput(batch, items))).ok, true);
    }
    const { outcomes, cursor, inBatches } = await store.probe(1, NOW);
    deepEqual([outcomes.succeeded, cursor, inBatches], [count, count, 0]);
  }),
];

const logCases: readonly StoreCase[] = [
  storeCase("reads the log after a cursor, ascending, up to the limit", async (store) => {
    const batch = await sealed(store, 1, 6);
    await store.settle(
      settleInput(
        batch,
        [0, 1, 2, 3, 4, 5].map((ord) => final(ord)),
      ),
    );
    deepEqual(
      (await log(store, 2, 3)).map(({ cursor, id }) => [cursor, id]),
      [
        [3, "b1-2"],
        [4, "b1-3"],
        [5, "b1-4"],
      ],
    );
    deepEqual(await log(store, 6), []);
    deepEqual(await log(store, 0, 0), []);
  }),

  storeCase("reads existing outcomes by ids in the given order", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.settle(settleInput(batch, [final(0), final(2)]));
    const rows = await store.outcomes({ ids: ["b1-2", "b1-1", "none", "b1-0"] });
    deepEqual(
      rows.map(({ id, cursor }) => [id, cursor]),
      [
        ["b1-2", 2],
        ["b1-0", 1],
      ],
    );
  }),

  storeCase("never shows a reader a new outcome below one that it has seen", async (store, open) => {
    const [writer, reader] = [await open(), await open()];
    const batches = [];
    for (let n = 0; n < 4; n += 1) batches.push(await sealed(store, n, 60));
    const seen: number[] = [];
    let writing = true;
    const reading = async (): Promise<void> => {
      while (writing) {
        for (const { cursor } of await log(reader, seen.at(-1) ?? 0, 50)) seen.push(cursor);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    };
    const settling = batches.map(async (batch, n) => {
      for (let ord = 0; ord < 60; ord += 3) {
        await (n % 2 ? store : writer).settle(settleInput(batch, [final(ord), final(ord + 1), final(ord + 2)]));
      }
    });
    const done = reading();
    await Promise.all(settling).finally(() => {
      writing = false;
    });
    await done;
    for (const { cursor } of await log(store, seen.at(-1) ?? 0)) seen.push(cursor);
    deepEqual(
      seen,
      Array.from({ length: 240 }, (_, n) => n + 1),
    );
  }),

  storeCase("records one outcome for each request when two settle the same batch at once", async (store, open) => {
    const other = await open();
    const batch = await sealed(store, 1, 40);
    const items = Array.from({ length: 40 }, (_, ord) => final(ord));
    const results = await Promise.all([
      store.settle(settleInput(batch, items, { sinks: ["hook"] })),
      other.settle(settleInput(batch, items.toReversed(), { sinks: ["hook"] })),
    ]);
    const applied = results.map((result) => (result.ok ? result.applied : 0));
    deepEqual(applied[0]! + applied[1]!, 40);
    const rows = await log(store);
    deepEqual(new Set(rows.map(({ id }) => id)).size, 40);
    ok(rows.every(({ cursor }, n) => cursor === n + 1));
    deepEqual((await store.probe(1, NOW)).deliveriesWaiting, 40);
  }),
];

const manyLanes: readonly StoreCase[] = [
  storeCase("keeps hundreds of lanes apart", async (store) => {
    const requests = Array.from({ length: 300 }, (_, n) =>
      many(2, { lane: `/v1/embeddings g${n} m` }, `l${n}-`),
    ).flat();
    await store.enqueue(requests, NOW);
    const { lanes } = await store.probe(10, NOW);
    deepEqual(lanes.length, 300);
    const batch = batchOf(await store.seal(sealInput(1, { lane: "/v1/embeddings g7 m" })));
    deepEqual(await memberIds(store, batch.key), ["l7-0", "l7-1"]);
    deepEqual((await store.probe(10, NOW)).lanes.length, 299);
  }),
];

export const settleCases: readonly StoreCase[] = [...decisionCases, ...logCases, ...manyLanes];
