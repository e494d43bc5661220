// Opening an older database extracts the error codes from its payloads, whatever else they contain.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const payload = (code: string, text: string): string => JSON.stringify({ response: { text }, error: { code } });
/** JSON of a depth that SQLite does not read. */
const deep = `{"response":${"[".repeat(3_000)}${"]".repeat(3_000)},"error":{"code":"deep"}}`;

test.each([
  ["a usual one", payload("bad", "text"), "bad"],
  ["half an emoji and a NUL character", payload("half", "\ud83d \0"), "half"],
  ["a code of any length", payload("x".repeat(5_000), "text"), "x".repeat(256)],
  ["more depth than SQLite reads", deep, null],
])("the payload of a failure has %s", async (_what, text, code) => {
  const path = folder.file();
  const database = new DatabaseSync(path);
  database.exec(readFileSync(new URL("fixtures/schema-1.sql", import.meta.url), "utf8"));
  database.prepare("UPDATE batchwise_outcome SET payload = ? WHERE status = 'failed'").run(text);
  database.close();
  const store = sqliteStore({ path });
  const failed = (await store.outcomes({ after: 0, limit: 100 })).filter(({ status }) => status === "failed");
  expect(failed.map((row) => [row.code, row.payload])).toEqual(failed.map(() => [code, text]));
  expect(failed.length).toBeGreaterThan(0);
  await store.close();
});
