// Opening what an earlier batchwise left. The same is asked of a database that the present store
// has filled with the same calls: an answer that is wrong there is no fault of the way from schema
// to schema.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { pruneAll } from "../places.ts";
import { fill, minute, row, seal } from "./filled.ts";
import { makeFolder } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

function loaded(fixture: string): string {
  const path = folder.file();
  const database = new DatabaseSync(path);
  database.exec(readFileSync(new URL(`fixtures/${fixture}`, import.meta.url), "utf8"));
  database.close();
  return path;
}

async function filled(): Promise<string> {
  const path = folder.file();
  const store = sqliteStore({ path });
  await fill(store);
  await store.close();
  return path;
}

async function membersOf(store: Store, key: string): Promise<string[]> {
  return (await store.requests({ batchKey: key, fromOrd: 0, limit: 100 })).map(({ id }) => id);
}

/** What a seal of the lane claims, in order. On a ledger of its own by default. */
async function claimed(store: Store, lane: string, now: number, most = 100, ledger = "roomy"): Promise<string[]> {
  const key = `${lane} at ${now}`;
  const { ok } = await seal(store, key, lane, now, ledger, most);
  return ok ? membersOf(store, key) : [];
}

async function taken(store: Store, sink: string, now: number): Promise<(readonly [cursor: number, attempt: number])[]> {
  const take = { sinks: [sink], limit: 100, leaseUntil: now + 1 };
  const deliveries = await store.deliveries({ now, reports: [], take });
  return deliveries.map(({ outcome, attempt }) => [outcome.cursor, attempt] as const);
}

/** Spaces and line breaks in the stored texts do not count. */
function tablesOf(database: DatabaseSync): unknown[] {
  const rows = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  return rows.map(({ name, sql }) => [
    name,
    String(sql)
      .replaceAll(/\s+/g, " ")
      .replaceAll(/ ?([(),]) ?/g, "$1"),
  ]);
}

const ways: [string, () => Promise<string>][] = [
  ["the present schema", filled],
  ["an earlier schema (1)", async () => loaded("schema-1.sql")],
];

describe.each(ways)("a filled database of %s", (_schema, make) => {
  async function open(): Promise<Store> {
    return sqliteStore({ path: await make() });
  }

  test("has every figure of before", async () => {
    const store = await open();
    const probe = await store.probe(100, minute(5));
    expect(probe).toMatchObject({
      ...{ inBatches: 5, cursor: 9, deliveriesWaiting: 14, batchDueAt: minute(3), deliveryDueAt: minute(1) },
      batches: { sealed: 1, running: 1, done: 1 },
      outcomes: { succeeded: 4, failed: 3, cancelled: 1, expired: 1 },
      ledgers: [{ name: "acme/m", tokens: 840, requests: 16, batches: 3, learnedTokens: 900, strikes: 1 }],
    });
    const none = { ready: 0, bytes: 0, tokens: 0, oldestAt: null, readySince: null, deadlineAt: null };
    const lanes = [...probe.lanes].sort((a, b) => (a.lane < b.lane ? -1 : 1));
    expect(lanes).toMatchObject([
      { lane: "alone", ...none, deferredUntil: minute(15) },
      { lane: "chat", ready: 12, tokens: 520, oldestAt: minute(0), deadlineAt: minute(8), deferredUntil: minute(10) },
      { lane: "embed", ready: 3, tokens: 15, oldestAt: minute(3), deadlineAt: null, deferredUntil: minute(10) },
    ]);
    const { digest: _, ...high } = row(["wait-high", "a", 10, { priority: 5, metadata: '{"of":"high"}' }], "chat");
    const waits = await store.requests({ ids: ["wait-high", "later-high"], bodies: true, history: true });
    expect(waits).toMatchObject([
      { ...high, state: "ready", attempts: 0, notBefore: 0, history: [] },
      { state: "ready", attempts: 1, notBefore: minute(60), history: [{ batchKey: "done", code: "server_error" }] },
    ]);
    await store.close();
  });

  test("returns waiting requests in claim order, and postponed ones when their time comes", async () => {
    const store = await open();
    expect(await claimed(store, "chat", minute(5), 3)).toEqual(["wait-high", "bad-2", "past"]);
    expect(await claimed(store, "chat", minute(10) - 1, 2)).toEqual(["wait-b1", "wait-none"]);
    const rest = ["wait-long", "wait-b2", "wait-a1", "wait-a2", "wait-a3", "wait-low"];
    expect(await claimed(store, "chat", minute(10))).toEqual(["later-chat", ...rest]);
    expect(await claimed(store, "chat", minute(60) - 1)).toEqual([]);
    expect(await claimed(store, "chat", minute(60))).toEqual(["later-high"]);
    expect(await claimed(store, "embed", minute(5))).toEqual(["wait-e3", "wait-e1", "wait-e2"]);
    expect(await claimed(store, "embed", minute(10))).toEqual(["later-embed"]);
    expect(await claimed(store, "alone", minute(15) - 1)).toEqual([]);
    expect(await claimed(store, "alone", minute(15))).toEqual(["later-alone"]);
    expect((await store.probe(100, minute(60))).lanes).toMatchObject([
      { lane: "chat", ready: 1, deadlineAt: minute(8) },
    ]);
    await store.close();
  });

  test("books a new batch beside the old ones, and shares with the tenants as before", async () => {
    const store = await open();
    // 60 are left.
    expect(await claimed(store, "chat", minute(5), 100, "acme/m")).toEqual(["wait-high", "bad-2"]);
    const known = row(["wait-a1", "a", 100], "chat");
    const more = ["a", "b", "c"].map((tenant) => row([`new-${tenant}`, tenant, 10], "chat"));
    const answers = await store.enqueue([known, { ...known, digest: "another" }, ...more], minute(5));
    expect(answers).toEqual(["same", "conflict", "stored", "stored", "stored"]);
    expect(await claimed(store, "chat", minute(6))).toEqual([
      ...["past", "wait-b1", "wait-none", "new-c", "wait-long", "wait-b2", "wait-a1", "wait-soon", "new-b"],
      ...["wait-a2", "wait-a3", "new-a", "wait-low"],
    ]);
    await store.close();
  });

  test("continues with the batches in flight, and its cursors from where they were", async () => {
    const store = await open();
    const lease = { owner: "new", accounts: ["acme"], limit: 10, leaseUntil: minute(30) };
    expect(await store.lease({ ...lease, now: minute(19) })).toMatchObject([{ key: "unsent", fence: 2 }]);
    const [batch] = await store.lease({ ...lease, now: minute(20) });
    expect(batch).toMatchObject({ key: "running", state: "running", fence: 2, remaining: 3, cancelRequested: 1 });
    expect(batch).toMatchObject({ providerBatchId: "pb-2", orphans: [{ providerBatchId: "pb-0" }] });
    expect(await membersOf(store, "unsent")).toEqual(["sealed-1", "sealed-2"]);
    const members = await store.requests({ batchKey: "running", fromOrd: 0, limit: 10 });
    const wishes = members.map(({ id, cancelRequested }) => `${id} ${cancelRequested}`);
    expect(wishes).toEqual(["run-3 false", "run-4 true", "run-2 false"]);
    const items = members.map(({ ord, id }) => {
      const at = { ord: ord ?? -1, charged: true };
      if (id === "run-3")
        return { ...at, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null } as const;
      return { ...at, kind: "requeue", code: "expired", notBefore: minute(25), lane: "chat" } as const;
    });
    const settlement = {
      key: "running",
      fence: 2,
      items,
      sinks: ["hook"],
      cancelledPayload: "{}",
      cancelledCode: "c",
      now: minute(21),
    };
    expect(await store.settle(settlement)).toEqual({ ok: true, applied: 3, ignored: 0, remaining: 0 });
    expect(await store.transition("running", 2, { state: "done" }, minute(21))).toMatchObject({ ok: true });
    const outcomes = await store.outcomes({ after: 0, limit: 100 });
    expect(outcomes.map(({ cursor, id }) => `${cursor} ${id}`)).toEqual([
      ...["1 ok-1", "2 ok-2", "3 ok-3", "4 bad-1", "6 run-1", "7 dropped", "8 refused", "9 late"],
      ...["10 run-3", "11 run-4"],
    ]);
    expect(await store.probe(100, minute(22))).toMatchObject({
      ...{ cursor: 11, inBatches: 2, deliveriesWaiting: 16, batches: { done: 2, running: 0 } },
      outcomes: { succeeded: 5, failed: 3, cancelled: 2, expired: 1 },
    });
    expect(await claimed(store, "chat", minute(25), 8)).toContain("run-2");
    await store.close();
  });

  test("hands on due requests, and the rest when their time comes", async () => {
    const store = await open();
    expect(await taken(store, "hook", minute(5))).toEqual([6, 7, 8, 9].map((cursor) => [cursor, 1]));
    const report = { attempt: 1, at: minute(5), statusCode: 200, error: null, result: "delivered", nextAt: 0 } as const;
    const reports = [6, 7, 8, 9].map((cursor) => ({ ...report, cursor, sink: "hook" }));
    await store.deliveries({ now: minute(5), reports, take: null });
    expect(await taken(store, "hook", minute(6) - 1)).toEqual([]);
    expect(await taken(store, "hook", minute(6))).toEqual([[4, 2]]);
    await store.deliveries({
      ...{ now: minute(6), take: null },
      reports: [{ ...report, cursor: 4, sink: "hook", attempt: 2 }],
    });
    expect(await taken(store, "hook", minute(20) - 1)).toEqual([]);
    expect(await taken(store, "hook", minute(20))).toEqual([[2, 2]]);
    expect(await taken(store, "log", minute(5))).toEqual([2, 3, 4, 6, 7, 8, 9].map((cursor) => [cursor, 1]));
    expect(await taken(store, "log", minute(7))).toContainEqual([1, 2]);
    const [first] = await store.outcomes({ ids: ["ok-1"], deliveries: true });
    expect(first?.deliveries).toMatchObject([
      { sink: "hook", state: "delivered", attempt: 1, log: [{ statusCode: 200 }] },
      { sink: "log", state: "waiting", attempt: 2, log: [{ error: "no route" }] },
    ]);
    expect((await store.probe(1, minute(7))).deliveriesWaiting).toBe(9);
    await store.close();
  });

  test("releases waiting requests, postponed or not, when they are cancelled or too late", async () => {
    const store = await open();
    const ids = ["past", "later-high", "wait-e3"];
    const cancelled = await store.amend({ kind: "cancel", ids, payload: "{}", code: "c" }, [], minute(5));
    expect(cancelled.map(({ result }) => result)).toEqual(["changed", "changed", "changed"]);
    const late = await store.amend({ kind: "expire", limit: 10, payload: "{}", code: "c" }, [], minute(120));
    expect(late.map(({ id }) => id)).toEqual(["wait-soon", "wait-long"]);
    expect(await claimed(store, "chat", minute(120))).toEqual([
      ...["wait-high", "bad-2", "later-chat", "wait-b1", "wait-none", "wait-b2", "wait-a1", "wait-a2", "wait-a3"],
      "wait-low",
    ]);
    expect(await claimed(store, "embed", minute(120))).toEqual(["wait-e1", "wait-e2", "later-embed"]);
    expect((await store.probe(100, minute(120))).cursor).toBe(14);
    await store.close();
  });
});

test("a filled database of an earlier schema gets the very tables of a new one", async () => {
  const earlier = new DatabaseSync(loaded("schema-1.sql"));
  const fresh = new DatabaseSync(folder.file());
  await sqliteStore({ database: earlier }).probe(1, minute(5));
  await sqliteStore({ database: fresh }).probe(1, minute(5));
  expect(tablesOf(earlier)).toEqual(tablesOf(fresh));
  earlier.close();
  fresh.close();
});

test("a filled database of an earlier schema is left as it was when its new tables cannot be made", async () => {
  const database = new DatabaseSync(loaded("schema-1.sql"));
  // The name that the step takes last.
  database.exec("CREATE TABLE batchwise_delivery_later (mine TEXT)");
  const before = tablesOf(database);
  const store = sqliteStore({ database });
  await expect(store.probe(1, minute(5))).rejects.toThrow(/batchwise_delivery_later/);
  expect(tablesOf(database)).toEqual(before);
  database.exec("DROP TABLE batchwise_delivery_later");
  expect(await claimed(store, "chat", minute(5), 3)).toEqual(["wait-high", "bad-2", "past"]);
  database.close();
});

test("an earlier schema's batches learn the earliest deadline of their members", async () => {
  const path = loaded("schema-1.sql");
  const database = new DatabaseSync(path);
  const setDeadline = database.prepare("UPDATE batchwise_request SET deadline_at = ? WHERE id = ?");
  setDeadline.run(minute(50), "sealed-1");
  setDeadline.run(minute(40), "sealed-2");
  database.close();
  const store = sqliteStore({ path });
  const batches = await store.batches({ limit: 10 });
  expect(batches.map(({ key, deadlineAt }) => [key, deadlineAt]).toSorted()).toEqual([
    ["done", null],
    ["running", minute(240)],
    ["unsent", minute(40)],
  ]);
  await store.close();
});

test("an earlier schema's group goes with the last of its requests", async () => {
  const database = new DatabaseSync(loaded("schema-1.sql"));
  const lanes = () => database.prepare("SELECT name FROM batchwise_lane ORDER BY name").all();
  const store = sqliteStore({ database });
  await pruneAll(store);
  expect(lanes()).toEqual([{ name: "alone" }, { name: "chat" }, { name: "embed" }]);
  const change = { ids: ["later-alone"], payload: "{}", code: "c" };
  expect(await store.amend({ kind: "cancel", ...change }, [], minute(0))).toMatchObject([{ result: "changed" }]);
  await pruneAll(store);
  expect(lanes()).toEqual([{ name: "chat" }, { name: "embed" }]);
  await store.close();
  database.close();
});
