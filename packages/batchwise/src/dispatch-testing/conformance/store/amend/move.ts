// Cases on moving waiting requests to another lane because of their deadlines.

import { deepEqual } from "node:assert/strict";
import {
  claimed,
  LANE,
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
} from "../case.ts";

const SOON = NOW + 1_000;
const move = { kind: "move", lane: LANE, to: OTHER_LANE, before: SOON, limit: 10 } as const;
const changed = (...ids: string[]) => ids.map((id) => ({ id, result: "changed" }));

export const moveCases: readonly StoreCase[] = [
  storeCase("moves the ready requests of a lane whose deadline comes before a time, and no others", async (store) => {
    await store.enqueue(
      [
        request("later", { deadlineAt: SOON }),
        request("second", { deadlineAt: SOON - 1 }),
        request("without"),
        request("first", { deadlineAt: NOW + 1 }),
        request("elsewhere", { deadlineAt: NOW + 1, lane: `${LANE}-2` }),
      ],
      NOW,
    );
    deepEqual(await store.amend(move, [], NOW), changed("first", "second"));
    deepEqual(await store.amend(move, [], NOW), []);
    const lanes = (await store.probe(10, NOW)).lanes.map(({ lane, ready, deadlineAt }) => [lane, ready, deadlineAt]);
    deepEqual(
      lanes.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        [LANE, 2, SOON],
        [`${LANE}-2`, 1, NOW + 1],
        [OTHER_LANE, 2, NOW + 1],
      ].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    );
    deepEqual(await claimed(store, 1), ["later", "without"]);
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), ["second", "first"]);
  }),

  storeCase("moves up to the limit at a time, the earliest deadlines first, until the lane is empty", async (store) => {
    const deadlines = [3, 1, 2].map((n) => request(`r${n}`, { deadlineAt: NOW + n }));
    await store.enqueue(deadlines, NOW);
    deepEqual(await store.amend({ ...move, limit: 2 }, [], NOW), changed("r1", "r2"));
    deepEqual(await store.amend({ ...move, limit: 2 }, [], NOW), changed("r3"));
    const { lanes } = await store.probe(10, NOW);
    deepEqual(
      lanes.map(({ lane, ready }) => [lane, ready]),
      [[OTHER_LANE, 3]],
    );
    deepEqual(await store.amend({ ...move, lane: "/v1/embeddings  none" }, [], NOW), []);
  }),

  storeCase("moves none where they are fewer than the least that is given", async (store) => {
    await store.enqueue([request("a", { deadlineAt: NOW + 1 }), request("b", { deadlineAt: NOW + 2 })], NOW);
    for (const before of [SOON, null]) deepEqual(await store.amend({ ...move, before, least: 3 }, [], NOW), []);
    deepEqual(await claimed(store, 1, { lane: OTHER_LANE }), []);
    deepEqual(await store.amend({ ...move, least: 2 }, [], NOW), changed("a", "b"));
  }),

  storeCase("moves requests that wait for a retry with their notBefore, and keeps those in a batch", async (store) => {
    await store.enqueue([request("a", { deadlineAt: NOW + 9 }), request("b", { deadlineAt: NOW + 9 })], NOW);
    const result = await store.seal(sealInput(1));
    if (!result.ok) throw new Error(result.reason);
    await store.settle(settleInput(result.batch, [requeue(0, { notBefore: NOW + 5 })]));
    deepEqual(await store.amend(move, [], NOW), changed("a"));
    deepEqual(await memberIds(store, result.batch.key), ["b"]);
    const [row] = await store.requests({ ids: ["a"], history: true });
    deepEqual([row?.lane, row?.notBefore, row?.attempts, row?.history?.length], [OTHER_LANE, NOW + 5, 1, 1]);
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), []);
    deepEqual(await claimed(store, 3, { lane: OTHER_LANE, now: NOW + 5 }), ["a"]);
  }),

  storeCase("moves all ready requests of a lane, in claim order, where no deadline is given", async (store) => {
    const all = { ...move, before: null };
    await store.enqueue(
      [request("a"), request("b", { deadlineAt: SOON }), request("c"), request("d", { priority: 1 })],
      NOW,
    );
    deepEqual(await store.amend({ ...all, limit: 2 }, [], NOW), changed("d", "a"));
    deepEqual(await store.amend(all, [], NOW), changed("b", "c"));
    deepEqual(await store.amend(all, [], NOW), []);
    deepEqual(await claimed(store, 1), []);
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), ["d", "a", "b", "c"]);
  }),

  storeCase("still expires, cancels and finds moved requests", async (store) => {
    await sealed(store, 1, 1);
    const soon = { deadlineAt: NOW + 2 };
    await store.enqueue([request("a", soon), request("b", soon)], NOW);
    await store.amend(move, [], NOW);
    deepEqual(await store.amend({ kind: "cancel", ids: ["b"], payload: "{}", code: "c" }, [], NOW), changed("b"));
    const expire = { kind: "expire", limit: 9, payload: "{}", code: "late" } as const;
    deepEqual(await store.amend(expire, [], NOW + 2), changed("a"));
    deepEqual((await store.probe(10, NOW + 2)).lanes, []);
  }),
];
