// What is kept of tenants and lanes that are over.

import { expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { comeAndGo } from "../places.ts";
import { watched } from "./folder.ts";

test("tenants whose requests have long been claimed leave no place behind, nor do lanes of halves a level", async () => {
  const { database, close } = watched(":memory:");
  const count = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number };
  await comeAndGo(sqliteStore({ database }));
  expect(count("batchwise_share").n).toBeLessThan(3);
  expect(count("batchwise_level").n).toBe(1);
  close();
});
