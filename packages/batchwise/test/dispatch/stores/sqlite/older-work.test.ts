// Opening a database of the schema before columns for health, and of that before limits of price,
// with work in every state.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { olderKey, testOlderWork, testPriceInOlderWork } from "../../support/older-work.ts";
import { makeFolder, NOW, requests } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

/** `more`: what else the older version has done. */
function loaded(more = "", fixture = "schema-11.sql"): string {
  const path = folder.file();
  const database = new DatabaseSync(path);
  database.exec(readFileSync(new URL(`fixtures/${fixture}`, import.meta.url), "utf8") + more);
  database.close();
  return path;
}

testOlderWork(async () => sqliteStore({ path: loaded() }));
testPriceInOlderWork(async () => sqliteStore({ path: loaded("", "schema-13.sql") }));

test("waits while a process of the older version holds a batch, says so, and then continues", async () => {
  const lease = (until: number): string =>
    `UPDATE batchwise_batch SET lease_owner = 'old', lease_until = ${until} WHERE key = '${olderKey("running")}';`;
  const path = loaded(lease(Date.now() + 90_000));
  const store = sqliteStore({ path });
  const waits = { code: "STORE_UNAVAILABLE", retryable: true };
  await expect(store.probe(1, 0)).rejects.toMatchObject({
    ...waits,
    message: expect.stringMatching(
      /schema 11, and cannot become \d+ yet: an older batchwise works on 1 of its batches/,
    ),
  });
  const older = new DatabaseSync(path);
  expect(older.prepare("SELECT provider_file_id FROM batchwise_batch LIMIT 1").get()).toBeDefined();
  older.exec(lease(0));
  expect((await store.probe(1, 0)).inBatches).toBe(33);
  // An older process that continues nevertheless cannot send anything.
  expect(() => older.exec("UPDATE batchwise_batch SET provider_file_id = 'in the create'")).toThrow(/no such column/);
  older.close();
  await store.close();
});

test("of a later version is refused in words", async () => {
  const path = loaded("UPDATE batchwise_schema SET version = 99;");
  const refused = { code: "STORE_SCHEMA", message: expect.stringContaining("schema 99, newer than this batchwise") };
  await expect(sqliteStore({ path }).probe(1, 0)).rejects.toMatchObject(refused);
});

describe("a process that stays connected while a later version upgrades the file", () => {
  test.each([
    ["adds columns", "ALTER TABLE batchwise_body ADD COLUMN x; ALTER TABLE batchwise_share ADD COLUMN x;", null],
    ["renames a column", "ALTER TABLE batchwise_body RENAME COLUMN body TO text;", "STORE_SCHEMA"],
  ])("that %s continues, or has to start anew", async (_what, step, code) => {
    const path = folder.file();
    const store = sqliteStore({ path });
    await store.enqueue(requests(1, "a"), NOW);
    const later = new DatabaseSync(path);
    later.exec(`${step} ALTER TABLE batchwise_ready ADD COLUMN x; UPDATE batchwise_schema SET version = 99;`);
    later.close();
    const failure = await store.enqueue(requests(1, "b"), NOW).then(
      () => null,
      (error: unknown) => error,
    );
    if (code === null) expect(failure).toBeNull();
    else
      expect(failure).toMatchObject({
        code,
        retryable: false,
        message: expect.stringContaining("start this process anew"),
      });
    await store.close();
  });
});
