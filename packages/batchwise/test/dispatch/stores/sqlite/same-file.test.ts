// The file, or the `-wal` beside it, removed or replaced while a store has it open. SQLite
// continues silently; the store acknowledges nothing from then on.

import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests, sealInput } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const damage: readonly (readonly [string, string, (path: string) => void])[] = [
  ["the file is removed", "removed", (path) => rmSync(path)],
  ["its `-wal` is removed", "-wal was removed", (path) => rmSync(`${path}-wal`)],
  ["the file is moved away", "removed", (path) => renameSync(path, `${path}-old`)],
  ["its folder is removed", "removed", (path) => rmSync(dirname(path), { recursive: true })],
  [
    "the file is replaced by a copy",
    "replaced",
    (path) => {
      copyFileSync(path, `${path}-copy`);
      renameSync(`${path}-copy`, path);
    },
  ],
];

test("a store behind a link looks at the files that the link leads to", async () => {
  const path = folder.file();
  const link = folder.file();
  await sqliteStore({ path }).close();
  symlinkSync(path, link);
  const store = sqliteStore({ path: link });
  await store.enqueue(requests(3, "before"), NOW);
  rmSync(`${path}-wal`);
  await expect(store.enqueue(requests(3, "after"), NOW)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
});

describe.each([
  ["a `file:` address", (path: string) => `file:${path}`],
  ["one with three slashes and a query", (path: string) => `file://${path}?mode=rwc&cache=private`],
  ["one with escapes", (path: string) => `file:${path.replace("store", "%73tore")}`],
])("a store of %s", (_what, addressOf) => {
  test.each(damage)("is looked at, too: %s", async (_how, words, spoil) => {
    const inside = folder.file();
    mkdirSync(inside);
    const path = `${inside}/store.db`;
    const store = sqliteStore({ path: addressOf(path) });
    await store.enqueue(requests(3, "before"), NOW);
    spoil(path);
    const refused = { code: "STORE_DAMAGED", message: expect.stringContaining(words) };
    await expect(store.enqueue(requests(3, "after"), NOW)).rejects.toMatchObject(refused);
    await store.close();
  });
});

test("a `file:` address of a database in memory has no file to look at", async () => {
  const store = sqliteStore({ path: `file:${folder.file()}?mode=memory` });
  expect(await store.enqueue(requests(1, "a"), NOW)).toEqual(["stored"]);
  await store.close();
});

describe.each(damage)("while a store runs, %s", (_what, words, spoil) => {
  test("no call is acknowledged from then on, and each says so", async () => {
    const inside = folder.file();
    mkdirSync(inside);
    const path = `${inside}/store.db`;
    const store = sqliteStore({ path });
    await store.enqueue(requests(3, "before"), NOW);
    spoil(path);
    const refused = { code: "STORE_DAMAGED", retryable: false, message: expect.stringContaining(words) };
    for (const call of [
      () => store.enqueue(requests(3, "after"), NOW),
      () => store.seal(sealInput("key")),
      () => store.requests({ ids: ["before0"] }),
      () => store.enqueue(requests(3, "later"), NOW),
    ])
      await expect(call()).rejects.toMatchObject(refused);
    await store.close();
  });
});

test("a second connection that comes, writes, checkpoints and goes disturbs nothing", async () => {
  const path = folder.file();
  const store = sqliteStore({ path });
  await store.enqueue(requests(3, "a"), NOW);
  const other = new DatabaseSync(path);
  other.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM");
  other.close();
  expect(await store.enqueue(requests(1, "b"), NOW)).toEqual(["stored"]);
  expect((await store.probe(10, NOW)).lanes[0]?.ready).toBe(4);
  await store.close();
});

test("a relative path is that of the folder in which the store was opened", async () => {
  const before = process.cwd();
  const inside = folder.file();
  mkdirSync(inside);
  process.chdir(inside);
  const store = sqliteStore({ path: "store.db" });
  try {
    await store.enqueue(requests(1, "a"), NOW);
    process.chdir(before);
    expect(await store.enqueue(requests(1, "b"), NOW)).toEqual(["stored"]);
  } finally {
    process.chdir(before);
    await store.close();
  }
});
