// Data kept for former tenants and lanes.

import { expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { comeAndGo, pruneAll } from "../places.ts";
import { sealInput, watched } from "./folder.ts";

test("tenants whose requests have long been claimed keep no place, nor do lanes of halves a level", async () => {
  const { database, close } = watched(":memory:");
  const count = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number };
  await comeAndGo(sqliteStore({ database }));
  expect(count("batchwise_share").n).toBeLessThan(3);
  expect(count("batchwise_level").n).toBe(1);
  close();
});

test("lanes of halves go with the last of their requests, and the lane that requests are enqueued in stays", async () => {
  const { database, close } = watched(":memory:");
  const store = sqliteStore({ database });
  const lanes = () => database.prepare("SELECT name FROM batchwise_lane").all();
  await comeAndGo(store);
  expect(lanes()).toHaveLength(51);
  await pruneAll(store);
  expect(lanes()).toEqual([{ name: sealInput("").lane }]);
  close();
});
