// Faults of a real store that a person has to correct: each has a code of its own, is not
// retryable, and rejects `start`. Once it is corrected, the same dispatcher starts.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { postgresStore } from "batchwise/dispatch/postgres";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace } from "../../services/kept.ts";
import { type PostgresPlace, poolAt, query } from "../../services/postgres.ts";
import { mountSmallDisk } from "../../services/small-disk.ts";

function dispatcherOn(store: Store, told: unknown[] = []) {
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 20, finalizeMs: 0 } });
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const dispatcher = createDispatcher({
    store,
    accounts: [openaiAccount({ client, pollMs: 20 })],
    thresholds: { maxRequests: 100, maxAgeMs: 50 },
    onError: (error) => told.push(error),
  });
  onTestFinished(() => dispatcher.stop());
  return dispatcher;
}

function storeAt(place: pg.PoolConfig): Store {
  const pool = poolAt(place);
  onTestFinished(() => pool.end());
  return postgresStore({ pool });
}

interface Fault {
  readonly name: string;
  readonly code: string;
  readonly says: RegExp;
  /** Makes the fault; resolves with where the store is, and how it is corrected. */
  readonly make: (place: PostgresPlace) => Promise<{ at: pg.PoolConfig; correct: () => Promise<unknown> }>;
}

const faults: readonly Fault[] = [
  {
    name: "a role without rights on tables that are there, and none to make any",
    code: "STORE_FORBIDDEN",
    says: /permission denied/,
    make: async (place) => {
      const user = `${place.application_name}_user`;
      await storeAt(place).probe(1, NOW);
      await query(place, `CREATE ROLE ${user} LOGIN; GRANT USAGE ON SCHEMA ${place.application_name} TO ${user}`);
      const all = `IN SCHEMA ${place.application_name} TO ${user}`;
      const rights = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES ${all}; GRANT USAGE ON ALL SEQUENCES ${all}`;
      return { at: { ...place, user }, correct: () => query(place, rights) };
    },
  },
  {
    name: "a role that may only read",
    code: "STORE_FORBIDDEN",
    says: /permission denied/,
    make: async (place) => {
      const user = `${place.application_name}_reader`;
      await storeAt(place).probe(1, NOW);
      await query(place, `CREATE ROLE ${user} LOGIN; GRANT USAGE ON SCHEMA ${place.application_name} TO ${user}`);
      const all = `ON ALL TABLES IN SCHEMA ${place.application_name} TO ${user}`;
      await query(place, `GRANT SELECT ${all}`);
      const more = `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${place.application_name} TO ${user}`;
      return { at: { ...place, user }, correct: () => query(place, `GRANT INSERT, UPDATE, DELETE ${all}; ${more}`) };
    },
  },
  {
    name: "a role that may not make tables where there are none",
    code: "STORE_FORBIDDEN",
    says: /permission denied/,
    make: async (place) => {
      const user = `${place.application_name}_maker`;
      await query(place, `CREATE ROLE ${user} LOGIN; GRANT USAGE ON SCHEMA ${place.application_name} TO ${user}`);
      const right = `GRANT CREATE ON SCHEMA ${place.application_name} TO ${user}`;
      return { at: { ...place, user }, correct: () => query(place, right) };
    },
  },
  {
    name: "a login of a role that is not there",
    code: "STORE_FORBIDDEN",
    says: /refuses the login.*does not exist/,
    make: async (place) => {
      const user = `${place.application_name}_late`;
      return { at: { ...place, user }, correct: () => query(place, `CREATE ROLE ${user} LOGIN SUPERUSER`) };
    },
  },
  {
    name: "a schema that is not there",
    code: "STORE_SCHEMA",
    says: /no schema has been selected/,
    make: async (place) => {
      const schema = `${place.application_name}_late`;
      const at = { ...place, options: `-c search_path=${schema}` };
      return { at, correct: () => query(place, `CREATE SCHEMA ${schema}`) };
    },
  },
  {
    name: "a database that is not there",
    code: "STORE_SCHEMA",
    says: /does not exist/,
    make: async (place) => {
      const database = `${place.application_name}_late`;
      const at = { ...place, database, options: "-c search_path=public" };
      return { at, correct: () => query(place, `CREATE DATABASE ${database}`) };
    },
  },
  {
    name: "tables of a later version",
    code: "STORE_SCHEMA",
    says: /schema 1000, newer than this batchwise knows/,
    make: async (place) => {
      await storeAt(place).probe(1, NOW);
      const { rows } = await query(place, "SELECT version FROM batchwise_schema");
      await query(place, "UPDATE batchwise_schema SET version = 1000");
      const before = `UPDATE batchwise_schema SET version = ${(rows[0] as { version: string }).version}`;
      return { at: place, correct: () => query(place, before) };
    },
  },
  {
    name: "a database of another encoding",
    code: "STORE_SCHEMA",
    says: /encoding LATIN1.*UTF8/,
    make: async (place) => {
      const database = `${place.application_name}_latin`;
      const made = (encoding: string): Promise<unknown> =>
        query(place, `CREATE DATABASE ${database} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
      await made("LATIN1");
      const correct = async (): Promise<void> => {
        await query(place, `DROP DATABASE ${database} WITH (FORCE)`);
        await made("SQL_ASCII");
      };
      return { at: { ...place, database, options: "-c search_path=public" }, correct };
    },
  },
];

test.each(faults)("in PostgreSQL, $name rejects the start with $code until it is corrected", async (fault) => {
  const { at, correct } = await fault.make(await postgresPlace());
  const store = storeAt(at);
  const dispatcher = dispatcherOn(store);
  const refused = { code: fault.code, retryable: false, message: expect.stringMatching(fault.says) };
  await expect(dispatcher.start()).rejects.toMatchObject(refused);
  await expect(store.enqueue(requests(1, "early"), NOW)).rejects.toMatchObject(refused);
  await correct();
  await dispatcher.start();
  const emoji = { id: "late", body: { model: "m", messages: [{ role: "user", content: "\u{1F600}" }] } };
  await dispatcher.enqueueMany([emoji]);
  expect(await dispatcher.result("late")).toMatchObject({ status: "succeeded" });
});

test("a PostgreSQL that is not there, or read-only, is waited for", async () => {
  const place = await postgresPlace();
  const told: unknown[] = [];
  await dispatcherOn(storeAt({ ...place, port: 1 }), told).start();
  await expect
    .poll(() => told, { timeout: 5_000 })
    .toContainEqual(expect.objectContaining({ code: "STORE_UNAVAILABLE" }));
  const store = storeAt({ ...place, options: `${place.options} -c default_transaction_read_only=on` });
  await dispatcherOn(store, told).start();
  const readOnly = expect.objectContaining({ code: "STORE_READ_ONLY", retryable: true });
  await expect.poll(() => told, { timeout: 5_000 }).toContainEqual(readOnly);
});

test("SQLite files on a read-only file system, there or not, reject the start and each read with STORE_READ_ONLY", async () => {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-read-only-"));
  const disk = await mountSmallDisk(folder, 8, userInfo().uid);
  onTestFinished(async () => {
    await disk.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...command: readonly string[]): string => {
    const [program = "", ...enter] = disk.enter;
    return execFileSync(program, [...enter, ...command], { stdio: ["ignore", "pipe", "pipe"] }).toString();
  };
  const child = join(import.meta.dirname, "../../fixtures/read-only-child.ts");
  const call = (...names: readonly string[]): unknown[] =>
    Object.values(JSON.parse(run(process.execPath, child, ...names.map((name) => join(folder, name)))));
  expect(call("old.db")).toEqual([["started", "read"]]);
  run("mount", "-o", "remount,ro", folder);
  const refused = ["STORE_READ_ONLY", "STORE_READ_ONLY"];
  expect(call("old.db", "new.db")).toEqual([refused, refused]);
  run("mount", "-o", "remount,rw", folder);
  expect(call("old.db", "new.db")).toEqual([
    ["started", "read"],
    ["started", "read"],
  ]);
});
