import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { describeStore } from "../conformance.ts";
import { databaseParent } from "./folder.ts";

describeStore("the SQLite store on a file of its own", true, async () => {
  const folder = mkdtempSync(join(databaseParent(), "batchwise-"));
  return {
    open: async () => sqliteStore({ path: join(folder, "store.db") }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});

describeStore("the SQLite store on a database that the user opened", false, async () => {
  const database = new DatabaseSync(":memory:");
  const store = sqliteStore({ database });
  return { open: async () => store, remove: async () => database.close() };
});
