// Cases on the order in which a lane's requests are claimed.

import { deepEqual } from "node:assert/strict";
import {
  batchOf,
  claimed,
  LANE,
  many,
  memberIds,
  NOW,
  OTHER_LANE,
  request,
  requeue,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

export const claimOrderCases: readonly StoreCase[] = [
  storeCase("claims in order of arrival, inside one call and across calls", async (store) => {
    await store.enqueue(many(5, {}, "a"), NOW);
    await store.enqueue(many(5, {}, "b"), NOW - 1_000);
    const expected = ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2", "b3", "b4"];
    deepEqual(await claimed(store, 1), expected);
  }),

  storeCase("claims higher priorities first", async (store) => {
    await store.enqueue([request("low", { priority: -1 }), request("mid"), request("high", { priority: 7 })], NOW);
    await store.enqueue([request("high2", { priority: 7 })], NOW);
    deepEqual(await claimed(store, 1), ["high", "high2", "mid", "low"]);
  }),

  storeCase("claims each once where batches end inside a priority", async (store) => {
    const [high, low] = [many(2, { priority: 5 }, "high"), many(2, { priority: -1 }, "low")];
    await store.enqueue([...low, ...many(4, {}, "mid"), ...high], NOW);
    deepEqual(await claimed(store, 1, { maxRequests: 4 }), ["high0", "high1", "mid0", "mid1"]);
    deepEqual(await claimed(store, 2, { maxRequests: 3 }), ["mid2", "mid3", "low0"]);
    deepEqual(await claimed(store, 3), ["low1"]);
    deepEqual((await store.probe(10, NOW)).lanes, []);
  }),

  storeCase("claims only from the requested lane", async (store) => {
    await store.enqueue([request("a"), request("b", { lane: OTHER_LANE }), request("c")], NOW);
    deepEqual(await claimed(store, 1, { lane: OTHER_LANE }), ["b"]);
    deepEqual(await claimed(store, 2), ["a", "c"]);
  }),

  storeCase("shares a lane among tenants by tokens", async (store) => {
    await store.enqueue(many(4, { tenant: "big", tokens: 10 }, "big"), NOW);
    await store.enqueue(many(2, { tenant: "one", tokens: 20 }, "one"), NOW);
    await store.enqueue(many(3, { tenant: "two", tokens: 5 }, "two"), NOW);
    // Ranks: big 0 10 20 30, one 0 20, two 0 5 10; equal ranks by arrival.
    deepEqual(await claimed(store, 1), ["big0", "one0", "two0", "two1", "big1", "two2", "big2", "one1", "big3"]);
  }),

  storeCase("gives a late tenant its share from now on, not from the start", async (store) => {
    await store.enqueue(many(6, { tenant: "early", tokens: 10 }, "early"), NOW);
    deepEqual(await claimed(store, 1, { maxRequests: 4 }), ["early0", "early1", "early2", "early3"]);
    await store.enqueue(many(3, { tenant: "late", tokens: 10 }, "late"), NOW);
    // V is 30: early 40 50, late 30 40 50.
    deepEqual(await claimed(store, 2), ["late0", "early4", "late1", "early5", "late2"]);
  }),

  storeCase("counts a request without tokens as one token", async (store) => {
    await store.enqueue(many(2, { tenant: "none", tokens: 0 }, "none"), NOW);
    await store.enqueue(many(2, { tenant: "one", tokens: 1 }, "one"), NOW);
    deepEqual(await claimed(store, 1), ["none0", "one0", "none1", "one1"]);
  }),

  storeCase("keeps shares apart by lane and by priority", async (store) => {
    await store.enqueue(many(3, { tenant: "a", tokens: 50 }, "a"), NOW);
    await store.enqueue([request("p", { tenant: "a", priority: 1 }), request("q", { tenant: "b" })], NOW);
    await store.enqueue([request("x", { tenant: "a", lane: OTHER_LANE }), request("y", { lane: OTHER_LANE })], NOW);
    deepEqual(await claimed(store, 1), ["p", "a0", "q", "a1", "a2"]);
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), ["x", "y"]);
  }),

  storeCase("shares among tenants that come and go as if they had never left", async (store) => {
    const finished = new Map<string, number>();
    let [claimedRank, waiting, expected] = [0, [] as { id: string; rank: number }[], [] as string[]];
    for (let round = 0; round < 60; round += 1) {
      // Most tenants come once. Two come in every round, with more or fewer tokens than the others.
      const fresh = [`once${round}`, "often", round % 7 === 0 ? "rare" : "other"].map((tenant, n) =>
        request(`${round}-${n}`, { tenant, tokens: 1 + ((round * 7 + n * 13) % 40) }),
      );
      for (const { id, tenant, tokens } of fresh) {
        const rank = Math.max(claimedRank, finished.get(tenant) ?? 0);
        finished.set(tenant, rank + tokens);
        waiting.push({ id, rank });
      }
      await store.enqueue(fresh, NOW);
      waiting = waiting.map((one, n) => ({ ...one, n })).sort((a, b) => a.rank - b.rank || a.n - b.n);
      const taken = waiting.splice(0, round % 5 === 4 ? 4 : 2);
      claimedRank = Math.max(claimedRank, ...taken.map(({ rank }) => rank));
      expected = taken.map(({ id }) => id);
      deepEqual(await claimed(store, round + 1, { maxRequests: expected.length }), expected);
    }
  }),

  storeCase("returns a requeued request to its place in the order", async (store) => {
    await store.enqueue(many(6), NOW);
    const batch = batchOf(await store.seal(sealInput(1, { maxRequests: 3 })));
    await store.settle(settleInput(batch, [requeue(2), requeue(0)]));
    deepEqual(await claimed(store, 2), ["r0", "r2", "r3", "r4", "r5"]);
  }),

  storeCase("inserts a request that is requeued into another lane by its own rank", async (store) => {
    await store.enqueue(many(3, { tokens: 10 }), NOW);
    await store.enqueue(many(3, { tokens: 10, lane: OTHER_LANE }, "o"), NOW);
    const batch = batchOf(await store.seal(sealInput(1)));
    await store.settle(settleInput(batch, [requeue(1, { lane: OTHER_LANE })]));
    // o0 has rank 0; r1 and o1 have rank 10, r1 arrived first.
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), ["o0", "r1", "o1", "o2"]);
  }),

  storeCase("claims no requests before their notBefore", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.settle(settleInput(batch, [requeue(0, { notBefore: NOW + 100 }), requeue(1)]));
    deepEqual(await claimed(store, 2, { now: NOW + 99 }), ["b1-1"]);
    deepEqual(await claimed(store, 3, { now: NOW + 100 }), ["b1-0"]);
  }),

  storeCase("claims no requests past their deadline", async (store) => {
    await store.enqueue([request("late", { deadlineAt: NOW }), request("near", { deadlineAt: NOW + 1 })], NOW - 10);
    await store.enqueue([request("free")], NOW);
    deepEqual(await claimed(store, 1), ["near", "free"]);
    deepEqual(await memberIds(store, sealInput(1).key), ["near", "free"]);
    const [late] = await store.requests({ ids: ["late"] });
    deepEqual([late?.state, late?.lane], ["ready", LANE]);
  }),
];
