// Cases on amending requests from outside their batch: cancel, fail, expire, retry.

import { deepEqual } from "node:assert/strict";
import type { Amendment } from "../../../../dispatch/contract/store/calls.ts";
import {
  claimed,
  final,
  LANE,
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
} from "../case.ts";

function byIds(kind: "cancel" | "fail", ...ids: string[]): Amendment {
  return { kind, ids, payload: OK, code: "c" };
}

const endingCases: readonly StoreCase[] = [
  storeCase("cancels waiting requests, marks those in a batch, and keeps ended ones", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0)]));
    await store.enqueue([request("waits")], NOW);
    const answers = await store.amend(byIds("cancel", "waits", "b1-1", "b1-0", "none", "waits"), ["hook"], NOW + 4);
    deepEqual(answers, [
      { id: "waits", result: "changed" },
      { id: "b1-1", result: "requested" },
      { id: "b1-0", result: "ended" },
      { id: "none", result: "not_found" },
      { id: "waits", result: "ended" },
    ]);
    const [outcome] = await store.outcomes({ ids: ["waits"], deliveries: true });
    deepEqual([outcome?.status, outcome?.cursor, outcome?.attempts, outcome?.recordedAt], ["cancelled", 2, 0, NOW + 4]);
    deepEqual(
      outcome?.deliveries?.map(({ sink, state, nextAt }) => [sink, state, nextAt]),
      [["hook", "waiting", NOW + 4]],
    );
    deepEqual((await store.probe(10, NOW)).lanes, []);
  }),

  storeCase("counts the wish of a claimed request once in its batch", async (store) => {
    await sealed(store, 1, 3);
    deepEqual(await store.amend(byIds("cancel", "b1-0"), [], NOW), [{ id: "b1-0", result: "requested" }]);
    deepEqual(await store.amend(byIds("cancel", "b1-0", "b1-2"), [], NOW), [
      { id: "b1-0", result: "requested" },
      { id: "b1-2", result: "requested" },
    ]);
    const [batch] = await store.batches({ limit: 1 });
    deepEqual([batch?.cancelRequested, batch?.remaining, batch?.fence], [2, 3, 1]);
    const rows = await store.requests({ ids: ["b1-0", "b1-1"] });
    deepEqual(
      rows.map(({ cancelRequested, state }) => [cancelRequested, state]),
      [
        [true, "claimed"],
        [false, "claimed"],
      ],
    );
  }),

  storeCase("fails waiting requests and no others", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0)]));
    await store.enqueue([request("waits")], NOW);
    deepEqual(await store.amend(byIds("fail", "waits", "b1-1", "b1-0", "none"), [], NOW), [
      { id: "waits", result: "changed" },
      { id: "b1-1", result: "waiting" },
      { id: "b1-0", result: "ended" },
      { id: "none", result: "not_found" },
    ]);
    deepEqual((await store.outcomes({ ids: ["waits"] }))[0]?.status, "failed");
    deepEqual((await store.requests({ ids: ["b1-1"] }))[0]?.cancelRequested, false);
  }),

  storeCase("expires waiting requests past their deadline, the earliest first, up to the limit", async (store) => {
    const deadlines = [NOW + 30, NOW + 10, NOW + 20, NOW + 31, null];
    await store.enqueue(
      deadlines.map((deadlineAt, n) => request(`d${n}`, { deadlineAt })),
      NOW,
    );
    await store.enqueue([request("first", { deadlineAt: NOW + 5 })], NOW);
    const expire = { kind: "expire", limit: 3, payload: OK, code: "c" } as const;
    deepEqual(
      (await store.amend({ ...expire, limit: 2 }, [], NOW + 30)).map(({ id }) => id),
      ["first", "d1"],
    );
    deepEqual(await store.amend(expire, ["hook"], NOW + 30), [
      { id: "d2", result: "changed" },
      { id: "d0", result: "changed" },
    ]);
    deepEqual(await store.amend(expire, [], NOW + 30), []);
    const { outcomes, deliveriesWaiting } = await store.probe(10, NOW);
    deepEqual([outcomes.expired, deliveriesWaiting], [4, 2]);
  }),

  storeCase("expires nothing that is in a batch", async (store) => {
    await store.enqueue([request("a", { deadlineAt: NOW + 5 })], NOW);
    deepEqual(await claimed(store, 1), ["a"]);
    deepEqual(await store.amend({ kind: "expire", limit: 9, payload: OK, code: "c" }, [], NOW + 9), []);
  }),
];

const retryCases: readonly StoreCase[] = [
  storeCase("retries unsuccessful requests as new ones in their old place", async (store) => {
    await store.enqueue([request("a", { deadlineAt: NOW + 50, tenant: "t" })], NOW);
    await store.amend({ kind: "expire", limit: 1, payload: OK, code: "c" }, ["hook"], NOW + 60);
    await store.enqueue([request("b")], NOW + 61);
    deepEqual(await store.amend(retryOf("a"), [], NOW + 70), [{ id: "a", result: "changed" }]);
    const [row] = await store.requests({ ids: ["a"] });
    deepEqual([row?.state, row?.attempts, row?.generation, row?.deadlineAt], ["ready", 0, 1, null]);
    deepEqual([row?.notBefore, row?.createdAt, row?.cancelRequested], [NOW + 70, NOW, false]);
    deepEqual(await store.outcomes({ ids: ["a"] }), []);
    deepEqual(await store.outcomes({ after: 0, limit: 10 }), []);
    const probe = await store.probe(10, NOW + 70);
    deepEqual([probe.cursor, probe.outcomes.expired, probe.deliveriesWaiting, probe.deliveryDueAt], [1, 1, 0, null]);
    deepEqual(await claimed(store, 1, { now: NOW + 70 }), ["a", "b"]);
  }),

  storeCase("gives a retried request its next outcome under a new cursor and generation", async (store) => {
    const first = await sealed(store, 1, 2);
    await store.settle(settleInput(first, [final(0, "failed"), final(1)]));
    await store.amend(retryOf("b1-0"), [], NOW);
    const input = sealInput(2);
    const second = await store.seal(input);
    const row = second.ok ? second.batch : first;
    await store.settle(settleInput(row, [requeue(0)]));
    const third = await store.seal(sealInput(3));
    await store.settle(settleInput(third.ok ? third.batch : first, [final(0)]));
    const log = await store.outcomes({ after: 0, limit: 10 });
    deepEqual(
      log.map(({ cursor, id, status, generation, attempts }) => [cursor, id, status, generation, attempts]),
      [
        [2, "b1-1", "succeeded", 0, 1],
        [3, "b1-0", "succeeded", 1, 2],
      ],
    );
  }),

  storeCase("retries neither successful nor open requests", async (store) => {
    const batch = await sealed(store, 1, 2);
    await store.settle(settleInput(batch, [final(0)]));
    await store.enqueue([request("waits")], NOW);
    deepEqual(await store.amend(retryOf("b1-0", "b1-1", "waits", "none"), [], NOW), [
      { id: "b1-0", result: "ended" },
      { id: "b1-1", result: "waiting" },
      { id: "waits", result: "waiting" },
      { id: "none", result: "not_found" },
    ]);
    deepEqual((await store.outcomes({ ids: ["b1-0"] })).length, 1);
  }),

  storeCase("puts each retried request into its given lane", async (store) => {
    const first = await sealed(store, 1, 3);
    await store.settle(settleInput(first, [final(0, "failed"), final(1, "failed"), final(2)]));
    const lanes = [OTHER_LANE, LANE, OTHER_LANE, OTHER_LANE];
    await store.amend({ kind: "retry", ids: ["b1-0", "b1-1", "b1-2", "none"], lanes }, [], NOW);
    const rows = await store.requests({ ids: ["b1-0", "b1-1", "b1-2"] });
    deepEqual(
      rows.map(({ lane }) => lane),
      [OTHER_LANE, LANE, LANE],
    );
    deepEqual(await claimed(store, 2, { lane: OTHER_LANE }), ["b1-0"]);
    deepEqual(await claimed(store, 3), ["b1-1"]);
  }),

  storeCase("forgets the cancel wish of a retried request", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.amend(byIds("cancel", "b1-0"), [], NOW);
    await store.settle(settleInput(batch, [requeue(0)]));
    await store.amend(retryOf("b1-0"), [], NOW);
    deepEqual(await claimed(store, 2), ["b1-0"]);
    const [row] = await store.batches({ keys: [sealInput(2).key], limit: 1 });
    deepEqual([row?.cancelRequested, row?.remaining], [0, 1]);
  }),
];

export const amendCases: readonly StoreCase[] = [...endingCases, ...retryCases];
