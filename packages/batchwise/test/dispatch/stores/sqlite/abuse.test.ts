// Databases that refuse writes: full, read-only, failing. Real limits of SQLite and no mocks,
// except for the error shape of another driver.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import type { Settlement } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { type SqliteDatabase, sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests, sealInput } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

async function readyIn(store: Store): Promise<number> {
  return (await store.probe(1_000_000, NOW)).lanes[0]?.ready ?? 0;
}

function limitTo(database: DatabaseSync, morePages: number): void {
  const { page_count } = database.prepare("PRAGMA page_count").get() as { page_count: number };
  database.exec(`PRAGMA max_page_count = ${page_count + morePages}`);
}

describe("a full database", () => {
  test("stops intake with STORE_FULL, stores nothing of the failed call and keeps all before it", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.probe(1, NOW);
    limitTo(database, 200);
    let stored = 0;
    const fill = async (): Promise<void> => {
      for (;;) {
        await store.enqueue(requests(20, `r${stored}-`, 2_000), NOW);
        stored += 20;
      }
    };
    await expect(fill()).rejects.toMatchObject({ name: "DispatchError", code: "STORE_FULL", retryable: false });
    expect(stored).toBeGreaterThan(100);
    expect(await readyIn(store)).toBe(stored);
    expect(await store.requests({ ids: [`r${stored}-0`, `r${stored}-19`] })).toEqual([]);

    limitTo(database, 10_000);
    await expect(store.enqueue(requests(20, `r${stored}-`, 2_000), NOW)).resolves.toHaveLength(20);
    expect(await readyIn(store)).toBe(stored + 20);
    database.close();
  });

  test("fails every caller of a shared commit, and none of them is stored", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.probe(1, NOW);
    limitTo(database, 5);
    const calls = requests(300, "r", 2_000).map((request) => store.enqueue([request], NOW));
    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "STORE_FULL" } });
    }
    expect(await readyIn(store)).toBe(0);
    database.close();
  });

  test("keeps a batch whole when results do not fit, and takes them once there is room", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.enqueue(requests(50, "r"), NOW);
    await store.seal(sealInput("key"));
    limitTo(database, 4);
    const payload = JSON.stringify({ text: "y".repeat(5_000) });
    const items = Array.from({ length: 50 }, (_, ord): Settlement => {
      return { ord, kind: "final", status: "succeeded", payload, code: null, usage: null, charged: true };
    });
    const input = {
      key: "key",
      fence: 1,
      items,
      sinks: ["hook"],
      cancelledPayload: "{}",
      cancelledCode: "c",
      now: NOW,
    };
    const before = await store.probe(10, NOW);
    await expect(store.settle(input)).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(await store.probe(10, NOW)).toEqual(before);
    limitTo(database, 10_000);
    expect(await store.settle(input)).toEqual({ ok: true, applied: 50, ignored: 0, remaining: 0 });
    expect((await store.probe(10, NOW)).cursor).toBe(50);
    database.close();
  });
});

describe("a read-only database", () => {
  test("is read as ever, and refuses every write with STORE_READ_ONLY", async () => {
    const path = folder.file();
    const writer = sqliteStore({ path });
    await writer.enqueue(requests(3, "r"), NOW);
    const database = new DatabaseSync(path, { readOnly: true });
    const store = sqliteStore({ database });
    expect(await readyIn(store)).toBe(3);
    expect(await store.requests({ ids: ["r1"] })).toHaveLength(1);
    const refused = { name: "DispatchError", code: "STORE_READ_ONLY", retryable: false };
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject(refused);
    await expect(store.seal(sealInput("key"))).rejects.toMatchObject(refused);
    await expect(store.amend({ kind: "cancel", ids: ["r0"], payload: "{}", code: "c" }, [], NOW)).rejects.toMatchObject(
      refused,
    );
    expect(await readyIn(writer)).toBe(3);
    await writer.close();
    database.close();
  });

  test("without tables says so at the first call", async () => {
    const path = folder.file();
    new DatabaseSync(path).close();
    const database = new DatabaseSync(path, { readOnly: true });
    await expect(sqliteStore({ database }).probe(1, NOW)).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
    database.close();
  });

  test("that becomes writable again is written to again", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.enqueue(requests(1, "r"), NOW);
    database.exec("PRAGMA query_only = ON");
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
    database.exec("PRAGMA query_only = OFF");
    await expect(store.enqueue(requests(1, "s"), NOW)).resolves.toEqual(["stored"]);
    database.close();
  });
});

describe("a database that fails", () => {
  test("a file that is no database is STORE_DAMAGED, with the driver's error as cause", async () => {
    const path = folder.file();
    writeFileSync(path, "this is a text file, and a long one at that, so that it has a header to look at ".repeat(100));
    const store = sqliteStore({ path });
    const error: unknown = await store.probe(1, NOW).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      ...{ code: "STORE_DAMAGED", retryable: false, message: expect.stringMatching(/not a database/) },
    });
    expect((error as Error).cause).toBeInstanceOf(Error);
    await store.close();
  });

  test("one whose folder does not exist is STORE_SCHEMA, not retryable, and the message names file and folder", async () => {
    const path = join(folder.file(), "no-such-folder", "store.db");
    const store = sqliteStore({ path });
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject({
      ...{ code: "STORE_SCHEMA", retryable: false },
      message: expect.stringMatching(`${path}.*the folder ${dirname(path)} does not exist`),
    });
    await store.close();
  });

  test.each([
    ["in a folder that does not exist", "/no-such-folder/store.db", /the folder .*no-such-folder does not exist/],
    [
      "in one, and that makes no file",
      "/no-such-folder/store.db?mode=rw",
      /the folder .*no-such-folder does not exist/,
    ],
    ["that makes no file, where there is none", "/store.db?mode=rw", /there is no such file/],
    ["of a folder", "", /it is a folder/],
  ])("a `file:` address %s is STORE_SCHEMA, and the message says so", async (_what, rest, words) => {
    const inside = folder.file();
    mkdirSync(inside);
    const store = sqliteStore({ path: `file:${inside}${rest}` });
    const refused = { code: "STORE_SCHEMA", retryable: false, message: expect.stringMatching(words) };
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject(refused);
    await store.close();
  });

  test("a database closed by its user rejects each call and breaks nothing else", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.enqueue(requests(1, "r"), NOW);
    database.close();
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(store.probe(1, NOW)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    await store.close();
  });

  test.each([
    ["SQLITE_FULL", "STORE_FULL"],
    ["SQLITE_READONLY_DBMOVED", "STORE_READ_ONLY"],
    ["SQLITE_BUSY_SNAPSHOT", "STORE_UNAVAILABLE"],
    ["SQLITE_CORRUPT_INDEX", "STORE_DAMAGED"],
    ["SQLITE_NOTADB", "STORE_DAMAGED"],
    ["SQLITE_AUTH", "STORE_FORBIDDEN"],
    ["SQLITE_PERM", "STORE_FORBIDDEN"],
    ["SQLITE_IOERR_WRITE", "STORE_UNAVAILABLE"],
  ])("the code %s of better-sqlite3 is %s", async (code, expected) => {
    const fail = (): never => {
      throw Object.assign(new Error("failed"), { code });
    };
    const database: SqliteDatabase = { exec: fail, prepare: fail };
    const store = sqliteStore({ database, busyTimeoutMs: 0 });
    await expect(store.probe(1, NOW)).rejects.toMatchObject({ code: expected });
  });
});
