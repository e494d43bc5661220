// What an older version of the Postgres store has written works on: a dump of its tables, opened by
// the present one. What it did not know reads as "" or null; codes are taken out of the payloads,
// whatever else a provider has put there.

import { readFileSync } from "node:fs";
import { postgresStore } from "batchwise/dispatch/postgres";
import { expect, onTestFinished, test } from "vitest";
import type { OutcomeRow } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { pruneAll } from "../../../dispatch/stores/places.ts";
import { NOW, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";

const dump = readFileSync(new URL("../fixtures/postgres-5.sql", import.meta.url), "utf8");
const ENDED = ["good", "plain", "quoted", "half", "nul", "slash", "none"];
const sinks = ["hook"];

/** `more`: what else the older version has done. */
async function olderStore(more = ""): Promise<Store> {
  const place = await postgresPlace();
  await query(place, `${dump};${more}`);
  const pool = poolAt(place);
  const store = postgresStore({ pool });
  onTestFinished(async () => {
    await store.close();
    await pool.end();
  });
  return store;
}

const outcomes = (store: Store): Promise<readonly OutcomeRow[]> => store.outcomes({ after: 0, limit: 100 });

test("has every outcome of before, and the code of each that has one", async () => {
  const store = await olderStore();
  const rows = await outcomes(store);
  expect(rows.map(({ id }) => id)).toEqual(ENDED);
  expect(rows.map(({ code }) => code)).toEqual([null, "server_error", 'a "code"', "half", "nul", "slash", null]);
  expect(rows.map(({ job, batchKey }) => job ?? batchKey)).toEqual(ENDED.map(() => ""));
  expect(JSON.parse(rows[3]?.payload ?? "")).toMatchObject({ error: { message: "cut \ud83d" } });
  for (const { id, code } of rows) {
    const found = code === null ? [] : (await store.find({ match: { code }, after: 0, limit: 10 })).rows;
    expect(found.map((row) => row.id)).toEqual(code === null ? [] : [id]);
  }
});

test("continues with waiting and batched requests, and counts from now on", async () => {
  const store = await olderStore();
  expect(await store.usage({})).toEqual([]);
  const item = { ord: 0, kind: "final", status: "succeeded", payload: "{}", code: null, charged: true } as const;
  const usage = { inputTokens: 3, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0 };
  const settle = { key: "second", fence: 1, sinks, cancelledPayload: "{}", cancelledCode: "c", now: NOW + 10 };
  expect(await store.settle({ ...settle, items: [{ ...item, usage }] })).toMatchObject({ ok: true, applied: 1 });
  const end = { payload: "{}", code: "c" };
  expect(await store.amend({ kind: "cancel", ids: ["waits"], ...end }, sinks, NOW + 10)).toMatchObject([
    { result: "changed" },
  ]);
  expect(await store.amend({ kind: "retry", ids: ["half"], lanes: ["chat"] }, sinks, NOW + 10)).toMatchObject([
    { result: "changed" },
  ]);
  const [inside, waits] = (await outcomes(store)).slice(-2);
  expect([inside?.id, inside?.batchKey, waits?.id, waits?.batchKey]).toEqual(["inside", "second", "waits", null]);
  expect(await store.usage({})).toMatchObject([
    { tenant: "", job: "", lane: "chat", ...usage, ended: { succeeded: 1, cancelled: 1, failed: 0 } },
  ]);
  expect((await store.find({ match: { states: ["ready"] }, after: 0, limit: 10 })).rows.map(({ id }) => id)).toEqual([
    "half",
    "again",
  ]);
});

test("delivers it, and lets go of it", async () => {
  const store = await olderStore();
  const take = { sinks, limit: 100, leaseUntil: NOW + 100 };
  const taken = await store.deliveries({ now: NOW + 1, reports: [], take });
  expect(taken.map(({ outcome }) => outcome.id)).toEqual(ENDED);
  const input = { before: NOW, batchesBefore: NOW, now: NOW + 2, after: 0, limit: 100 };
  const statuses = ["succeeded", "failed"] as const;
  expect(await store.prune({ ...input, statuses })).toMatchObject({ requests: 0, kept: 7 });
  const reports = taken.map(({ sink, attempt, outcome: { cursor } }) => ({
    ...{ cursor, sink, attempt, at: NOW + 1, nextAt: 0, statusCode: 200, error: null },
    result: "delivered" as const,
  }));
  await store.deliveries({ now: NOW + 1, reports, take: null });
  expect(await store.prune({ ...input, statuses })).toMatchObject({ requests: 7, kept: 0, next: null });
  expect(await outcomes(store)).toEqual([]);
});

test("requests that wait in the lane of a split batch's part are still found there, also after a prune", async () => {
  const store = await olderStore(`
    INSERT INTO batchwise_lane OVERRIDING SYSTEM VALUE VALUES (2, 'half'), (3, 'other half');
    UPDATE batchwise_request SET lane = 2 WHERE id = 'waits';
    UPDATE batchwise_ready SET lane = 2;`);
  await pruneAll(store);
  expect(await store.requests({ ids: ["waits"] })).toMatchObject([{ state: "ready", lane: "half" }]);
  expect((await store.probe(9, NOW)).lanes).toMatchObject([{ lane: "half", ready: 1 }]);
  expect(await store.seal({ ...sealInput("next"), lane: "half" })).toMatchObject({ ok: true, batch: { requests: 1 } });
});

test("waiting requests are counted right where another process writes while the tables become the present ones", async () => {
  const place = await postgresPlace();
  await query(place, dump);
  const pool = poolAt(place);
  const store = postgresStore({ pool });
  onTestFinished(async () => {
    await store.close();
    await pool.end();
  });
  const writer = await pool.connect();
  await writer.query(
    "BEGIN; INSERT INTO batchwise_ready SELECT seq + 100, lane, priority, rank, bytes, tokens, not_before, deadline_at, created_at FROM batchwise_ready",
  );
  const opened = store.usage({});
  const blocked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
  await expect.poll(async () => (await pool.query(blocked, [place.application_name])).rows).toEqual([{ count: "1" }]);
  await writer.query("COMMIT");
  writer.release();
  await opened;
  const { rows } = await pool.query(
    "SELECT (SELECT sum(requests) FROM batchwise_waiting) AS counted, (SELECT count(*) FROM batchwise_ready WHERE NOT later) AS there",
  );
  expect(rows).toEqual([{ counted: "3", there: "3" }]);
});
