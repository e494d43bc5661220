// Wrong arguments of `enqueueIn`, and faults of the connection during the call: each error names
// the remedy.

import { createDispatcher, type DispatchRequest } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type PostgresStore, type PostgresTransaction, postgresStore } from "batchwise/dispatch/postgres";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";

const ask = (id: string): DispatchRequest => ({ id, body: { messages: [{ role: "user", content: id }] } });

async function open(poolSize = 10) {
  const place = await postgresPlace();
  const pool = poolAt({ ...place, max: poolSize });
  onTestFinished(() => pool.end());
  const store = postgresStore({ pool });
  return { place, pool, store };
}

function dispatcherOn(store: PostgresStore, model = "m") {
  const fake = fakeProvider();
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  return createDispatcher({ store, accounts: [openaiAccount({ client })], requestDefaults: { model } });
}

/** A connection beside the pool. */
async function connection(config: pg.PoolConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

test("a client without a transaction, with one that has ended or failed, or a pool, is refused with the way out", async () => {
  const { pool, place, store } = await open();
  dispatcherOn(store);
  const client = await connection(place);
  const none = {
    code: "TRANSACTION_UNUSABLE",
    retryable: false,
    message: expect.stringMatching(/BEGIN.*pool\.connect/),
  };
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(none);
  await expect(store.enqueueIn(pool, [ask("a")])).rejects.toMatchObject(none);
  await client.query("BEGIN");
  await client.query("COMMIT");
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(none);
  await client.query("BEGIN");
  await expect(client.query("SELECT nonsense")).rejects.toThrow();
  const failed = { code: "TRANSACTION_UNUSABLE", message: expect.stringMatching(/has failed: roll it back/) };
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(failed);
  await client.query("ROLLBACK");
  await client.query("BEGIN");
  expect(await store.enqueueIn(client, [])).toEqual([]);
  expect(await store.enqueueIn(client, [ask("a")])).toEqual([{ id: "a", existing: false }]);
  await client.query("COMMIT");
});

test.each([undefined, null, "client", {}, () => {}, new Promise(() => {})])("%s is no client", async (given) => {
  const { store } = await open();
  dispatcherOn(store);
  const call = store.enqueueIn(given as unknown as PostgresTransaction, [ask("a")]);
  await expect(call).rejects.toMatchObject({ name: "TypeError", code: "INVALID_OPTION" });
  await expect(call).rejects.toThrow(/`?client`?.*query/);
});

test("without a dispatcher on the store object no check is possible, which the error says; stopped ones do not count", async () => {
  const { pool, place, store } = await open();
  const client = await connection(place);
  await client.query("BEGIN");
  const none = { code: "NO_DISPATCHER", message: expect.stringMatching(/createDispatcher\(\{ store, accounts \}\)/) };
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(none);
  dispatcherOn(postgresStore({ pool }));
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(none);
  const first = dispatcherOn(store, "first");
  const last = dispatcherOn(store, "last");
  await store.enqueueIn(client, [ask("a")]);
  await last.stop();
  await store.enqueueIn(client, [ask("b")]);
  const lanes = await client.query("SELECT name FROM batchwise_lane ORDER BY id");
  expect(lanes.rows.map(({ name }) => name.split(" ").at(-1))).toEqual(["last", "first"]);
  await first.stop();
  await expect(store.enqueueIn(client, [ask("c")])).rejects.toMatchObject(none);
});

test("a closed store takes nothing, and waits for requests that it is taking", async () => {
  const { place, store } = await open();
  await dispatcherOn(store).stats();
  const client = await connection(place);
  await client.query("BEGIN");
  const call = store.enqueueIn(client, [ask("a")]);
  await store.close();
  await expect(store.enqueueIn(client, [ask("b")])).rejects.toMatchObject({ code: "CLOSED" });
  expect(await call).toEqual([{ id: "a", existing: false }]);
});

test("a client that does not see the store's tables is refused, and its transaction continues", async () => {
  const { store } = await open();
  dispatcherOn(store);
  const client = await connection(await postgresPlace());
  await client.query("BEGIN");
  const elsewhere = { code: "TRANSACTION_UNUSABLE", message: expect.stringMatching(/search path of the store's pool/) };
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject(elsewhere);
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

test("a transaction that only reads is refused as such, and continues", async () => {
  const { place, store } = await open();
  await dispatcherOn(store).stats();
  const client = await connection(place);
  await client.query("BEGIN READ ONLY");
  await expect(store.enqueueIn(client, [ask("a")])).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

test("a connection that is cut in the middle rejects the call, and nothing is stored", async () => {
  const { place, store } = await open();
  const dispatcher = dispatcherOn(store);
  await dispatcher.stats();
  const client = await connection(place);
  await client.query("BEGIN");
  await store.enqueueIn(client, [ask("a")]);
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  await query(place, `SELECT pg_terminate_backend(${rows[0].pid})`);
  const cut = store.enqueueIn(client, [ask("b")]);
  await expect(cut).rejects.toMatchObject({ name: "DispatchError", code: "STORE_UNAVAILABLE" });
  expect((await dispatcher.requests()).requests).toEqual([]);
});

test("a COMMIT that does not wait for the call is reported by the call", async () => {
  const { place, store } = await open();
  await dispatcherOn(store).stats();
  const client = await connection(place);
  await client.query("BEGIN");
  const call = store.enqueueIn(client, [ask("a")]);
  const told = expect(call).rejects.toMatchObject({
    code: "TRANSACTION_UNUSABLE",
    message: expect.stringMatching(/await enqueueIn before COMMIT/),
  });
  await Promise.resolve();
  await client.query("COMMIT");
  await told;
});

test("a wait for a lock that the session limits ends the call, not the transaction", async () => {
  const { place, store } = await open();
  const dispatcher = dispatcherOn(store);
  await dispatcher.stats();
  const [one, two] = [await connection(place), await connection(place)];
  await one.query("BEGIN");
  await store.enqueueIn(one, [ask("a")]);
  await two.query("BEGIN");
  await two.query("SET LOCAL lock_timeout = 100");
  await expect(store.enqueueIn(two, [ask("a")])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
  await one.query("ROLLBACK");
  expect(await store.enqueueIn(two, [ask("a")])).toEqual([{ id: "a", existing: false }]);
  await two.query("COMMIT");
  expect((await dispatcher.requests()).requests).toHaveLength(1);
});

test("the first call of all makes the tables, and a pool's only connection is enough once they are there", async () => {
  const { place, pool, store } = await open(2);
  dispatcherOn(store);
  const first = await pool.connect();
  await first.query("BEGIN");
  await store.enqueueIn(first, [ask("a")]);
  await first.query("COMMIT");
  first.release();
  const small = poolAt({ ...place, max: 1 });
  onTestFinished(() => small.end());
  const fresh = postgresStore({ pool: small });
  dispatcherOn(fresh);
  const client = await small.connect();
  await client.query("BEGIN");
  expect(await fresh.enqueueIn(client, [ask("a"), ask("b")])).toMatchObject([{ existing: true }, { existing: false }]);
  await client.query("COMMIT");
  client.release();
});

test("thousands in one call are stored in order", async () => {
  const { place, store } = await open();
  const dispatcher = dispatcherOn(store);
  const client = await connection(place);
  await client.query("BEGIN");
  const ids = Array.from({ length: 2_500 }, (_, n) => `r${n}`);
  const answers = await store.enqueueIn(client, ids.map(ask));
  expect(answers.map(({ id }) => id)).toEqual(ids);
  await client.query("COMMIT");
  expect((await dispatcher.stats()).lanes).toMatchObject([{ waiting: 2_500 }]);
});
