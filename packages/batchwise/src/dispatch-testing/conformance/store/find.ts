// Cases on finding requests by their fields.

import { deepEqual, ok } from "node:assert/strict";
import type { RequestMatch, RequestRow } from "../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  ended,
  final,
  many,
  NOW,
  OK,
  request,
  requeue,
  retryOf,
  type StoreCase,
  sealed,
  settleInput,
  storeCase,
} from "./case.ts";

/** All matching requests, read in pages of this size. */
async function found(store: Store, match: RequestMatch, limit = 100): Promise<RequestRow[]> {
  const rows: RequestRow[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after, limit });
    ok(page.rows.length <= limit, "a page has more rows than asked");
    ok(page.next === null || page.next > after, "a page does not move on");
    rows.push(...page.rows);
    after = page.next;
  }
  return rows;
}

async function ids(store: Store, match: RequestMatch, limit?: number): Promise<string[]> {
  return (await found(store, match, limit)).map(({ id }) => id);
}

export const findCases: readonly StoreCase[] = [
  storeCase("finds nothing in a new store", async (store) => {
    deepEqual(await store.find({ match: {}, after: 0, limit: 5 }), { rows: [], next: null });
  }),

  storeCase("finds all requests in order of arrival, whatever the size of a page", async (store) => {
    await store.enqueue(many(4, { priority: 1 }), NOW + 5);
    await store.enqueue([request("last", { priority: 9 })], NOW);
    const all = ["r0", "r1", "r2", "r3", "last"];
    for (const limit of [1, 2, 5, 9]) deepEqual(await ids(store, {}, limit), all);
    const arrivals = (await found(store, {})).map(({ arrival }) => arrival);
    ok(arrivals.every((arrival, n) => Number.isSafeInteger(arrival) && arrival > (arrivals[n - 1] ?? 0)));
  }),

  storeCase("finds requests by tenant and by job, and those without", async (store) => {
    await store.enqueue([request("a", { tenant: "t", job: "j" }), request("b", { job: "j" })], NOW);
    await store.enqueue([request("c", { tenant: "t" }), request("d")], NOW);
    deepEqual(await ids(store, { tenant: "t" }), ["a", "c"]);
    deepEqual(await ids(store, { job: "j" }), ["a", "b"]);
    deepEqual(await ids(store, { tenant: "t", job: "j" }, 1), ["a"]);
    deepEqual(await ids(store, { tenant: "", job: "" }), ["d"]);
    deepEqual(await ids(store, { job: "other" }), []);
    const [row] = await found(store, { tenant: "t", job: "j" });
    deepEqual([row?.tenant, row?.job, row?.body, row?.history], ["t", "j", null, null]);
  }),

  storeCase("finds requests by where they are", async (store) => {
    const batch = await sealed(store, 1, 4);
    await store.enqueue([request("w"), request("x"), request("y")], NOW);
    await store.amend({ kind: "cancel", ids: ["x"], payload: OK, code: "gone" }, [], NOW + 1);
    await store.amend({ kind: "fail", ids: ["y"], payload: OK, code: "bad" }, [], NOW + 2);
    await store.settle(settleInput(batch, [final(0), ended(1, { code: "bad" }), requeue(2)]));
    deepEqual(await ids(store, { states: ["ready"] }), ["b1-2", "w"]);
    deepEqual(await ids(store, { states: ["claimed"] }), ["b1-3"]);
    deepEqual(await ids(store, { states: ["succeeded"] }), ["b1-0"]);
    deepEqual(await ids(store, { states: ["failed", "cancelled"] }, 1), ["b1-1", "x", "y"]);
    deepEqual(await ids(store, { states: ["failed", "ready", "claimed"] }, 2), ["b1-1", "b1-2", "b1-3", "w", "y"]);
    deepEqual(await ids(store, { states: [] }), []);
    deepEqual(await ids(store, { code: "bad" }, 1), ["b1-1", "y"]);
    deepEqual(await ids(store, { code: "bad", batchKey: batch.key }), ["b1-1"]);
    deepEqual(await ids(store, { batchKey: batch.key }), ["b1-0", "b1-1", "b1-3"]);
    deepEqual(await ids(store, { batchKey: batch.key, states: ["claimed"] }), ["b1-3"]);
    deepEqual(await ids(store, { batchKey: "none" }), []);
  }),

  storeCase("shows how and where a request ended, in rows and in outcomes", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.enqueue([request("w")], NOW);
    await store.settle(settleInput(batch, [ended(0, { code: "bad" }), final(1)], { now: NOW + 7 }));
    await store.amend({ kind: "cancel", ids: ["w"], payload: OK, code: "gone" }, [], NOW + 9);
    const inBatch = { batchKey: batch.key, recordedAt: NOW + 7 };
    const rows = await store.requests({ ids: ["b1-0", "b1-1", "w"] });
    deepEqual(
      rows.map(({ ended }) => ended),
      [
        { ...inBatch, status: "failed", code: "bad", cursor: 1 },
        { ...inBatch, status: "succeeded", code: null, cursor: 2 },
        { status: "cancelled", code: "gone", batchKey: null, cursor: 3, recordedAt: NOW + 9 },
      ],
    );
    const outcomes = await store.outcomes({ after: 0, limit: 9 });
    const places = outcomes.map(({ id, code, batchKey }) => [id, code, batchKey]);
    deepEqual(places, [
      ["b1-0", "bad", batch.key],
      ["b1-1", null, batch.key],
      ["w", "gone", null],
    ]);
    await store.amend(retryOf("b1-0"), [], NOW + 11);
    const [again] = await store.requests({ ids: ["b1-0"] });
    deepEqual([again?.ended, again?.batchKey], [null, null]);
    deepEqual(await ids(store, { code: "bad" }), []);
  }),

  storeCase("finds a few among many, page by page", async (store) => {
    await store.enqueue(many(3_000), NOW);
    await store.enqueue([request("rare", { job: "j", tenant: "t" })], NOW);
    deepEqual(await ids(store, { job: "j" }, 10), ["rare"]);
    deepEqual(await ids(store, { tenant: "t" }, 10), ["rare"]);
  }),

  storeCase("reads the outcomes of one job", async (store) => {
    await store.enqueue([request("a", { job: "j" }), request("b"), request("c", { job: "j" })], NOW);
    await store.enqueue([request("d", { job: "k" }), request("e", { job: "j" })], NOW);
    const all = ["e", "d", "a", "b", "c"];
    await store.amend({ kind: "cancel", ids: all, payload: OK, code: "c" }, [], NOW);
    const read = async (after: number, limit: number, job: string): Promise<unknown> =>
      (await store.outcomes({ after, limit, job })).map((row) => [row.cursor, row.id, row.job]);
    deepEqual(await read(0, 9, "j"), [
      [1, "e", "j"],
      [3, "a", "j"],
      [5, "c", "j"],
    ]);
    deepEqual(await read(1, 1, "j"), [[3, "a", "j"]]);
    deepEqual(await read(0, 9, "k"), [[2, "d", "k"]]);
    deepEqual(await read(0, 9, "none"), []);
    await store.amend(retryOf("a"), [], NOW);
    deepEqual(await read(1, 9, "j"), [[5, "c", "j"]]);
  }),
];
