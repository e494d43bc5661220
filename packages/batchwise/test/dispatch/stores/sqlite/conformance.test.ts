import { copyFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { describeStore } from "../conformance.ts";
import { makeFolder } from "./folder.ts";

const folder = makeFolder();
/** With all tables: each case copies it, because making them takes longer than most cases. */
const empty = folder.file();

beforeAll(async () => {
  const store = sqliteStore({ path: empty });
  await store.probe(1, 0);
  await store.close();
});
afterAll(() => folder.remove());

describeStore("the SQLite store on a file of its own", true, async () => {
  const path = folder.file();
  copyFileSync(empty, path);
  return { open: async () => sqliteStore({ path }), remove: async () => rmSync(path) };
});

describeStore("the SQLite store on a database that the user opened", false, async () => {
  const database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  return { open: async () => store, remove: async () => database.close() };
});
