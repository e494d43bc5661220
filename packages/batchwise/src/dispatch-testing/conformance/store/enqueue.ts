// Cases on enqueueing requests and reading them.

import { deepEqual } from "node:assert/strict";
import { batchOf, keyOf, LANE, many, NOW, request, type StoreCase, sealInput, storeCase } from "./case.ts";

export const enqueueCases: readonly StoreCase[] = [
  storeCase("answers each request of a call in order: stored, same or conflict", async (store) => {
    deepEqual(await store.enqueue([request("a"), request("b")], NOW), ["stored", "stored"]);
    const again = [request("a"), request("b", { digest: "another" }), request("c"), request("c"), request("d")];
    deepEqual(await store.enqueue(again, NOW), ["same", "conflict", "stored", "same", "stored"]);
    deepEqual(await store.enqueue([request("e"), request("e", { digest: "another" })], NOW), ["stored", "conflict"]);
  }),

  storeCase("keeps the first request of an id as it was", async (store) => {
    await store.enqueue([request("a", { priority: 3, tenant: "t" })], NOW);
    await store.enqueue([request("a", { priority: 9, body: "{}", lane: "x" })], NOW + 5);
    await store.enqueue([request("a", { digest: "another", tokens: 99 })], NOW + 6);
    const [row] = await store.requests({ ids: ["a"], bodies: true });
    deepEqual([row?.priority, row?.tenant, row?.tokens, row?.lane], [3, "t", 10, LANE]);
    deepEqual([row?.createdAt, row?.body], [NOW, '{"input":"a"}']);
  }),

  storeCase("knows an id in whatever state its request is", async (store) => {
    await store.enqueue([request("claimed"), request("ended")], NOW);
    await store.amend({ kind: "cancel", ids: ["ended"], payload: "{}", code: "c" }, [], NOW);
    await store.seal(sealInput(1));
    deepEqual(await store.enqueue([request("claimed"), request("ended")], NOW), ["same", "same"]);
    deepEqual(await store.enqueue([request("ended", { digest: "another" })], NOW), ["conflict"]);
  }),

  storeCase("enqueues nothing for an empty list", async (store) => {
    deepEqual(await store.enqueue([], NOW), []);
    deepEqual((await store.probe(10, NOW)).lanes, []);
  }),

  storeCase("gives an id to one of many callers that enqueue it at once", async (store, open) => {
    const other = await open();
    const calls = Array.from({ length: 20 }, (_, n) => (n % 2 ? store : other).enqueue([request("a")], NOW));
    const answers = (await Promise.all(calls)).flat();
    deepEqual(answers.filter((answer) => answer === "stored").length, 1);
    deepEqual(answers.filter((answer) => answer === "same").length, 19);
  }),

  storeCase("reads a fresh request back whole", async (store) => {
    const given = request("a", { deadlineAt: NOW + 9, metadata: '{"k":"v"}', tenant: "t", job: "j", priority: -2 });
    await store.enqueue([given], NOW);
    const { digest: _digest, ...kept } = given;
    const expected = {
      ...{ ...kept, state: "ready", createdAt: NOW, notBefore: 0, attempts: 0, generation: 0 },
      ...{ batchKey: null, ord: null, cancelRequested: false, ended: null, turns: null, history: [] },
    };
    const [row] = await store.requests({ ids: ["a"], bodies: true, history: true });
    const arrival = row?.arrival;
    deepEqual(row, { ...expected, arrival });
    deepEqual(await store.requests({ ids: ["a"] }), [{ ...expected, arrival, body: null, history: null }]);
  }),

  storeCase("keeps any text as it is: quotes, line ends and all of Unicode", async (store) => {
    const body = `{"input":"'\\" \u2028 \ud83d\ude00 ${"é".repeat(70_000)}"}`;
    const id = 'it\'s "an" id; -- 🙂';
    await store.enqueue([request(id, { body, tenant: "t'", metadata: '{"a":"ü"}' })], NOW);
    const [row] = await store.requests({ ids: [id], bodies: true });
    deepEqual([row?.id, row?.body, row?.tenant, row?.metadata], [id, body, "t'", '{"a":"ü"}']);
  }),

  storeCase("keeps JSON that has a NUL or half of a surrogate pair escaped in it", async (store) => {
    const text = JSON.stringify({ input: "a\0b \ud83d c" });
    await store.enqueue([request("a", { body: text, metadata: text })], NOW);
    const [row] = await store.requests({ ids: ["a"], bodies: true });
    deepEqual([row?.body, row?.metadata], [text, text]);
  }),

  storeCase("reads by ids in the given order, without missing ones", async (store) => {
    await store.enqueue(many(4), NOW);
    const rows = await store.requests({ ids: ["r3", "none", "r0", "r2"] });
    deepEqual(
      rows.map(({ id }) => id),
      ["r3", "r0", "r2"],
    );
    deepEqual(await store.requests({ ids: [] }), []);
  }),

  storeCase("reads open members by ord, from any place, up to the limit", async (store) => {
    await store.enqueue(many(10), NOW);
    batchOf(await store.seal(sealInput(1)));
    const rows = await store.requests({ batchKey: keyOf(1), fromOrd: 4, limit: 3, bodies: true });
    deepEqual(
      rows.map(({ id, ord, batchKey, state }) => [id, ord, batchKey, state]),
      [4, 5, 6].map((n) => [`r${n}`, n, keyOf(1), "claimed"]),
    );
    deepEqual(rows[0]?.body, '{"input":"r4"}');
    deepEqual(await store.requests({ batchKey: keyOf(2), fromOrd: 0, limit: 3 }), []);
  }),
];
