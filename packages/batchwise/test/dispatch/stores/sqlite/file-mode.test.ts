// Who may read the files of a database.

import { chmodSync, existsSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

function modesOf(path: string): string[] {
  return ["", "-wal", "-shm"].map((end) => (statSync(`${path}${end}`).mode & 0o777).toString(8));
}

test.each([
  ["for its owner alone", { isUri: false }, "600"],
  ["with `fileMode`, whatever the umask takes away", { isUri: false, fileMode: 0o666 }, "666"],
  ["by a file: URI, too", { isUri: true, fileMode: 0o660 }, "660"],
])("a database and its -wal and -shm are made %s", async (_, { isUri, ...options }, mode) => {
  const file = folder.file();
  const store = sqliteStore({ path: isUri ? pathToFileURL(file).href : file, ...options });
  await store.enqueue(requests(3, "r"), NOW);
  expect(modesOf(file)).toEqual([mode, mode, mode]);
  await store.close();
});

test("a database that is there keeps its mode, and -wal and -shm follow it", async () => {
  const file = folder.file();
  writeFileSync(file, "");
  chmodSync(file, 0o644);
  const store = sqliteStore({ path: file, fileMode: 0o600 });
  await store.enqueue(requests(3, "r"), NOW);
  expect(modesOf(file)).toEqual(["644", "644", "644"]);
  await store.close();
});

test("a database in memory makes no file", async () => {
  for (const path of [":memory:", "file::memory:", `file:${folder.file()}?mode=memory`]) {
    const store = sqliteStore({ path });
    await store.enqueue(requests(3, "r"), NOW);
    await store.close();
    expect(existsSync(path.replace(/^file:|\?.*/g, ""))).toBe(false);
  }
});

test("a mode with which the owner cannot write, and one for a database that is given, are refused", () => {
  for (const fileMode of [0o400, 0o1600, -1, 384.5, "660" as never]) {
    expect(() => sqliteStore({ path: "x.db", fileMode })).toThrow("permissions with which the owner reads and writes");
  }
  const database = new DatabaseSync(":memory:");
  expect(() => sqliteStore({ database, fileMode: 0o600 })).toThrow("`fileMode` is for `path`");
  database.close();
});
