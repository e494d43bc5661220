// Cases on what stays of pruned requests: tombstones, and until when.

import { deepEqual } from "node:assert/strict";
import { keyOf, many, NOW, OK, request, retryOf, type StoreCase, storeCase } from "./case.ts";
import { end, NONE, pruned, pruneInput } from "./prune.ts";

export const tombstoneCases: readonly StoreCase[] = [
  storeCase("keeps id and digest of a pruned request, and nothing else", async (store) => {
    await store.enqueue([request("a"), request("b")], NOW);
    await end(store, ["a"], NOW);
    deepEqual(await store.prune(pruneInput()), { ...NONE, requests: 1, next: null });
    deepEqual(await store.requests({ ids: ["a"], bodies: true, history: true }), []);
    deepEqual(await store.outcomes({ ids: ["a"] }), []);
    deepEqual(await store.outcomes({ after: 0, limit: 9 }), []);
    const { rows } = await store.find({ match: {}, after: 0, limit: 9 });
    deepEqual(
      rows.map(({ id }) => id),
      ["b"],
    );
    const same = [request("a"), request("a", { digest: "other" }), request("c")];
    deepEqual(await store.enqueue(same, NOW), ["same", "conflict", "stored"]);
    deepEqual(await store.enqueue([request("a", { priority: 5 })], NOW), ["same"]);
    const [lane] = (await store.probe(9, NOW)).lanes;
    deepEqual(lane?.ready, 2);
  }),

  storeCase("returns tombstones on request, in the order of the ids", async (store) => {
    await store.enqueue(many(3), NOW);
    await end(store, ["r0", "r2"], NOW);
    await store.prune(pruneInput({ before: NOW }));
    await end(store, ["r1"], NOW);
    const rows = await store.requests({ ids: ["r2", "none", "r1", "r0"], bodies: true, tombstones: true });
    deepEqual(
      rows.map(({ id, state, ended }) => [id, state, ended === null]),
      [
        ["r2", "ended", true],
        ["r1", "ended", false],
        ["r0", "ended", true],
      ],
    );
  }),

  storeCase("forgets tombstones of requests that were pruned up to a time, and no others", async (store) => {
    await store.enqueue(many(9), NOW);
    await end(store, ["r0", "r1", "r2"], NOW);
    await pruned(store, { now: NOW + 10 });
    await end(store, ["r3"], NOW + 11);
    await pruned(store, { now: NOW + 20, limit: 1 });
    const known = async (): Promise<string[]> =>
      (await store.requests({ ids: ["r0", "r1", "r2", "r3", "r4"], tombstones: true })).map(({ id }) => id);
    deepEqual(await pruned(store, { now: NOW + 30, tombstonesBefore: NOW + 9 }), NONE);
    deepEqual(await known(), ["r0", "r1", "r2", "r3", "r4"]);
    deepEqual(await pruned(store, { now: NOW + 30, tombstonesBefore: NOW + 10, limit: 2 }), NONE);
    deepEqual(await known(), ["r3", "r4"]);
    const again = [request("r0", { digest: "other" }), request("r3"), request("r4")];
    deepEqual(await store.enqueue(again, NOW + 31), ["stored", "same", "same"]);
    deepEqual((await store.probe(100, NOW + 31)).outcomes.cancelled, 4);
  }),

  storeCase("forgets a tombstone in the run that makes it, where there is no time between", async (store) => {
    await store.enqueue(many(3), NOW);
    await end(store, ["r0", "r1"], NOW);
    deepEqual(await pruned(store, { now: NOW + 10, tombstonesBefore: NOW + 10 }), { ...NONE, requests: 2 });
    deepEqual((await store.requests({ ids: ["r0", "r2"], tombstones: true })).length, 1);
  }),

  storeCase("knows nothing of a pruned request in a change of requests", async (store) => {
    await store.enqueue([request("a")], NOW);
    await end(store, ["a"], NOW);
    await store.prune(pruneInput());
    const change = { ids: ["a"], payload: OK, code: "c" };
    const unknown = [{ id: "a", result: "not_found" }];
    deepEqual(await store.amend({ kind: "cancel", ...change }, [], NOW), unknown);
    deepEqual(await store.amend({ kind: "fail", ...change }, [], NOW), unknown);
    deepEqual(await store.amend(retryOf("a"), [], NOW), unknown);
    deepEqual((await store.probe(1, NOW)).lanes, []);
  }),

  {
    name: "knows pruned ids after it was closed",
    durable: true,
    run: async (open) => {
      const store = await open();
      await store.enqueue(many(2), NOW);
      await end(store, ["r0"], NOW);
      await pruned(store);
      await store.close();
      const again = await open();
      deepEqual(await again.enqueue([request("r0"), request("r0", { digest: "d" })], NOW), ["same", "conflict"]);
      deepEqual((await again.requests({ ids: ["r0"], tombstones: true })).length, 1);
      deepEqual(await again.requests({ ids: ["r0"] }), []);
      deepEqual((await again.batches({ keys: [keyOf(1)], limit: 1 })).length, 0);
    },
  },
];
