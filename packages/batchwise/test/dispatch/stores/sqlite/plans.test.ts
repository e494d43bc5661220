// SQLite finds the store's rows by an index of few rows, without scanning the many that have ended
// or wait.

import { expect, test } from "vitest";
import type { RequestMatch } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/index.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { final } from "../../../../src/dispatch-testing/conformance/store/case.ts";
import { NOW, requests, sealInput, watched } from "./folder.ts";

/** The steps that SQLite plans on a table for a call of the store. */
async function plansOf(table: string, call: (store: Store) => Promise<unknown>): Promise<string[]> {
  const { database, ran, close } = watched(":memory:");
  const store = sqliteStore({ database });
  await store.enqueue(requests(2, "r"), NOW);
  ran.length = 0;
  await call(store);
  const plans = [...new Set(ran)]
    .filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(sql))
    .map((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
    .filter((steps) => steps.some(({ detail }) => detail.includes(table)));
  close();
  return plans.flat().map(({ detail }) => detail);
}

test("live batches are found by the index of those, however many are done", async () => {
  const steps = await plansOf("batchwise_batch", (store) =>
    store.batches({ account: "a", states: ["submitting", "unknown"], limit: 100 }),
  );
  expect(steps.join("; ")).toMatch(/SEARCH batchwise_batch USING INDEX batchwise_batch_open \(state=\?\)/);
  expect(steps.filter((step) => step.startsWith("SCAN batchwise_batch"))).toEqual([]);
});

test("due deliveries are found in order, by sink, however many wait for another try", async () => {
  const take = { sinks: ["hook"], limit: 10, leaseUntil: NOW + 9 };
  const steps = await plansOf("batchwise_delivery", (store) => store.deliveries({ now: NOW, reports: [], take }));
  expect(steps).toEqual([
    "SEARCH batchwise_delivery USING INDEX batchwise_delivery_later (sink=? AND next_at<?)",
    "SEARCH batchwise_delivery USING INDEX batchwise_delivery_now (sink=?)",
  ]);
});

test("a probe and a seal walk through none of the requests that wait for their notBefore", async () => {
  const calls: ((store: Store) => Promise<unknown>)[] = [
    (store) => store.probe(50_000, NOW),
    (store) => store.seal(sealInput("k")),
  ];
  for (const call of calls) {
    const steps = (await plansOf("batchwise_ready", call)).filter((step) => /\(lane=\?/.test(step));
    const paths = new Set(steps.map((step) => /USING .*$/.exec(step)?.[0].replace("COVERING ", "")));
    expect(steps.length).toBeGreaterThan(2);
    for (const path of paths) {
      expect(path).toMatch(
        /PRIMARY KEY \(lane=\? AND later=\?|ready_later \(lane=\? AND not_before|ready_deadline \(lane=/,
      );
    }
  }
});

test("prices cost no statements of their own, and one payer is charged without being read before", async () => {
  const { database, ran, close } = watched(":memory:");
  const store = sqliteStore({ database });
  await store.payers([{ name: "job", limit: 500, spent: 0 }], []);
  ran.length = 0;
  await store.enqueue(
    requests(21, "r").map((row) => ({ ...row, price: 6 })),
    NOW,
  );
  expect(ran.filter((sql) => sql.startsWith("UPDATE batchwise_request"))).toEqual([]);
  const sealed = await store.seal({ ...sealInput("k"), payers: ["job"] });
  const fence = sealed.ok ? sealed.batch.fence : 0;
  ran.length = 0;
  const items = Array.from({ length: 21 }, (_, ord) => ({ ...final(ord), price: 5 }));
  await store.settle({ key: "k", fence, items, sinks: [], cancelledPayload: "{}", cancelledCode: "c", now: NOW });
  expect(ran.filter((sql) => /SELECT name FROM batchwise_payer/.test(sql))).toEqual([]);
  expect(await store.payers([], ["job"])).toMatchObject([{ spent: 105, reserved: 0 }]);
  close();
});

test("a seal that money refuses sums up no batch, because that is read each turn", async () => {
  const { database, ran, close } = watched(":memory:");
  const store = sqliteStore({ database });
  await store.payers([{ name: "job", limit: 5, spent: 0 }], []);
  await store.enqueue(
    requests(20, "r").map((row) => ({ ...row, price: 6 })),
    NOW,
  );
  ran.length = 0;
  expect(await store.seal({ ...sealInput("k"), payers: ["job"] })).toMatchObject({ ok: false, reason: "price_limit" });
  expect(ran.filter((sql) => /GROUP BY priority|ROWS UNBOUNDED/.test(sql))).toEqual([]);
  close();
});

test("a prune finds by an index whether a group has requests, and goes over no others", async () => {
  const input = { before: NOW, batchesBefore: NOW, statuses: [], after: 0, limit: 100, now: NOW };
  const steps = await plansOf("batchwise_lane", (store) => store.prune(input));
  expect(steps.join("; ")).toMatch(/SEARCH batchwise_lane USING INTEGER PRIMARY KEY \(rowid<\?\)/);
  expect(steps.join("; ")).toMatch(/SEARCH r USING COVERING INDEX batchwise_request_group \(lane=\?/);
});

test("a prune finds the batches to delete by the index of those whose members have all been deleted", async () => {
  const input = { before: NOW, batchesBefore: NOW, statuses: [], after: 0, limit: 100, now: NOW };
  const steps = await plansOf("batchwise_batch", (store) => store.prune(input));
  expect(steps).toContain("SEARCH batchwise_batch USING INDEX batchwise_batch_over (updated_at<?)");
  expect(steps.filter((step) => step.startsWith("SCAN batchwise_batch"))).toEqual([]);
});

test("a page of members is cut before their requests and bodies are joined to it", async () => {
  const steps = await plansOf("batchwise_member", (store) =>
    store.requests({ batchKey: "k", fromOrd: 9, limit: 60, bodies: true }),
  );
  expect(steps).toContain("SEARCH batchwise_member USING PRIMARY KEY (batch=? AND ord>?)");
  expect(steps.filter((step) => /TEMP B-TREE|^SCAN (?!m$)/.test(step))).toEqual([]);
});

test("requests are found by their states, their job or their code through an index of these", async () => {
  const looks: readonly (readonly [RequestMatch, RegExp])[] = [
    [
      { states: ["failed"] },
      /batchwise_outcome USING COVERING INDEX batchwise_outcome_status \(status=\? AND seq>\?\)/,
    ],
    [{ states: ["ready"] }, /batchwise_ready USING COVERING INDEX batchwise_ready_seq \(seq>\?\)/],
    [{ states: ["claimed"] }, /batchwise_member USING COVERING INDEX batchwise_member_seq \(seq>\?\)/],
    [{ job: "j" }, /batchwise_request USING COVERING INDEX batchwise_request_job \(job=\? AND seq>\?\)/],
    [{ code: "c" }, /batchwise_outcome USING COVERING INDEX batchwise_outcome_code \(code=\? AND seq>\?\)/],
  ];
  for (const [match, path] of looks) {
    const steps = await plansOf("source0", (store) => store.find({ match, after: 9, limit: 60 }));
    expect(steps.join("; ")).toMatch(path);
  }
});

test("the outcomes of one job are read by their index, from any cursor on", async () => {
  const steps = await plansOf("batchwise_outcome", (store) => store.outcomes({ after: 9, limit: 60, job: "j" }));
  expect(steps).toContain("SEARCH o USING INDEX batchwise_outcome_job (job=? AND cursor>?)");
});
