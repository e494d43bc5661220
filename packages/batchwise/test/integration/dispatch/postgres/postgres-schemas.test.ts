// Stores in schemas that the connection's search path does not name, on a real PostgreSQL.

import { readFileSync } from "node:fs";
import { createDispatcher, type DispatchRequest } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { postgresStore } from "batchwise/dispatch/postgres";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { NOW } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";

const named = pg.escapeIdentifier;
const ask = (id: string): DispatchRequest => ({ id, body: { model: "m", messages: [{ role: "user", content: id }] } });

/** A database of its own, whose connections have the server's own search path. */
async function database(...schemas: readonly string[]) {
  const place = await postgresPlace();
  const name = `${place.application_name}_database`;
  await query(place, `CREATE DATABASE ${name}`);
  const at: pg.PoolConfig = { ...place, database: name, options: "" };
  for (const schema of schemas) await query(at, `CREATE SCHEMA ${named(schema)}`);
  const pool = poolAt(at);
  onTestFinished(async () => {
    await pool.end();
    await query(place, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return { at, pool };
}

function started(store: ReturnType<typeof postgresStore>) {
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 20, finalizeMs: 0 } });
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client, pollMs: 20 })];
  const dispatcher = createDispatcher({ store, accounts, thresholds: { maxRequests: 100, maxAgeMs: 50 } });
  onTestFinished(() => dispatcher.stop());
  return { fake, dispatcher };
}

async function tablesIn(pool: pg.Pool): Promise<string[]> {
  const sql = "SELECT DISTINCT schemaname AS name FROM pg_tables WHERE tablename LIKE 'batchwise%' ORDER BY 1";
  return (await pool.query(sql)).rows.map(({ name }) => name);
}

test("two stores in two schemas of one database have the same ids, and know nothing of one another", async () => {
  const schemas = ['A "b" C', "über, alles"];
  const { pool } = await database(...schemas);
  const stores = schemas.map((schema) => postgresStore({ pool, schema }));
  const worlds = stores.map(started);
  await Promise.all(worlds.map(({ dispatcher }) => dispatcher.start()));
  for (const { dispatcher } of worlds) {
    expect(await dispatcher.enqueue(ask("one"))).toEqual({ id: "one", existing: false });
  }
  await worlds[1]?.dispatcher.enqueue(ask("two"));
  const ended = await Promise.all(worlds.map(({ dispatcher }) => dispatcher.result("one")));
  expect(ended.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  await worlds[1]?.dispatcher.result("two");
  const cursors = await Promise.all(stores.map(async (store) => (await store.probe(1, Date.now())).cursor));
  expect(cursors).toEqual([1, 2]);
  expect(worlds.map(({ fake }) => fake.runs().size)).toEqual([1, 2]);
  expect(await tablesIn(pool)).toEqual([...schemas].sort());
});

test("requests in a transaction of the caller's reach their store's schema, and do not change the search path", async () => {
  const { at, pool } = await database("Ours", "yours");
  await pool.query("CREATE TABLE yours.orders (id TEXT)");
  const store = postgresStore({ pool, schema: "Ours" });
  const { dispatcher } = started(store);
  await dispatcher.start();
  const client = new pg.Client(at);
  await client.connect();
  onTestFinished(() => client.end());
  const path = async (): Promise<string> => (await client.query("SHOW search_path")).rows[0].search_path;

  await client.query("BEGIN");
  await client.query("SET search_path TO yours");
  expect(await store.enqueueIn(client, [ask("a")])).toEqual([{ id: "a", existing: false }]);
  expect(await path()).toBe("yours");
  await client.query("INSERT INTO orders VALUES ('a')");
  const other = { ...ask("b"), id: "a" };
  await expect(store.enqueueIn(client, [other])).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  expect(await path()).toBe("yours");
  await client.query("COMMIT");
  expect(await path()).toBe("yours");
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded" });

  await client.query("BEGIN; SET LOCAL search_path TO public");
  await store.enqueueIn(client, [ask("c")]);
  expect(await path()).toBe("public");
  await client.query("ROLLBACK");
  expect(await path()).toBe("yours");
  await expect(dispatcher.result("c")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await tablesIn(pool)).toEqual(["Ours"]);
});

test("tables of an earlier version are brought up to date where they are", async () => {
  const { at, pool } = await database("Older");
  const dump = readFileSync(new URL("../fixtures/postgres-5.sql", import.meta.url), "utf8");
  await query({ ...at, options: '-c search_path="Older"' }, dump);
  const store = postgresStore({ pool, schema: "Older" });
  expect((await store.probe(1, NOW)).cursor).toBeGreaterThan(0);
  expect(await tablesIn(pool)).toEqual(["Older"]);
});

test("a schema that is not there, or that the role may not use, has a code of its own until it is corrected", async () => {
  const { at, pool } = await database();
  const user = `${at.application_name}_user`;
  await query(at, `CREATE ROLE ${user} LOGIN`);
  const users = poolAt({ ...at, user });
  onTestFinished(() => users.end());
  const store = postgresStore({ pool: users, schema: "Late" });
  const missing = {
    code: "STORE_SCHEMA",
    retryable: false,
    message: expect.stringContaining('schema "Late" does not exist'),
  };
  await expect(store.probe(1, NOW)).rejects.toMatchObject(missing);
  await pool.query('CREATE SCHEMA "Late"');
  const forbidden = { code: "STORE_FORBIDDEN", retryable: false, message: expect.stringContaining('"Late"') };
  await expect(store.probe(1, NOW)).rejects.toMatchObject(forbidden);
  await pool.query(`GRANT USAGE, CREATE ON SCHEMA "Late" TO ${user}`);
  expect((await store.probe(1, NOW)).cursor).toBe(0);
});

test("a schema is a text that Postgres can keep as a name", async () => {
  const { pool } = await database();
  for (const schema of ["", "a\0b", "ü".repeat(32), 7, null]) {
    expect(() => postgresStore({ pool, schema: schema as string })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining("schema") }),
    );
  }
  const longest = "ü".repeat(31);
  await pool.query(`CREATE SCHEMA ${named(longest)}`);
  expect((await postgresStore({ pool, schema: longest }).probe(1, NOW)).cursor).toBe(0);
});
