// A million requests with 10,000 cached prefixes: sealing the first ones and the rest costs as many
// statements as with ten prefixes.

import { afterAll, expect, test } from "vitest";
import { memoryStore } from "../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, watched } from "../test/dispatch/stores/sqlite/folder.ts";
import { sealedWithin } from "../test/dispatch/support/cached-prefixes.ts";

const PREFIXES = 10_000;
const EACH = 100;
const folder = makeFolder();
afterAll(() => folder.remove());

test("a million requests with 10,000 prefixes in SQLite", { timeout: 900_000 }, async () => {
  const few = watched(folder.file());
  const small = await sealedWithin(sqliteStore({ database: few.database }), 10, EACH, () => few.ran.length);
  few.close();
  const many = watched(folder.file());
  const large = await sealedWithin(sqliteStore({ database: many.database }), PREFIXES, EACH, () => many.ran.length);
  many.close();
  expect(large).toMatchObject({ lanes: 3, sizes: [PREFIXES, PREFIXES, PREFIXES * (EACH - 2)] });
  // A probe of more than its limit counts the first 1,000 of a lane: one statement more.
  const more = large.costs.map((cost, n) => cost - (small.costs[n] as number));
  expect(Math.max(...more.map(Math.abs))).toBeLessThanOrEqual(3);
});

test("a million requests with 10,000 prefixes in memory", { timeout: 900_000 }, async () => {
  const large = await sealedWithin(memoryStore(), PREFIXES, EACH, () => 0);
  expect(large).toMatchObject({ lanes: 3, sizes: [PREFIXES, PREFIXES, PREFIXES * (EACH - 2)] });
});
