import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import type { NewRequest } from "../../../../src/dispatch/index.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import type { SqliteStoreOptions } from "../../../../src/dispatch/stores/sqlite/open.ts";
import { makeFolder, NOW, requests, sealInput, watched } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

describe("group commit", () => {
  test("single enqueues of one turn share one commit", async () => {
    const { database, ran, close } = watched(folder.file());
    const store = sqliteStore({ database });
    await store.probe(1, NOW);
    ran.length = 0;
    const answers = await Promise.all(requests(300, "r").map((request) => store.enqueue([request], NOW)));
    expect(answers.flat()).toEqual(Array(300).fill("stored"));
    expect(ran.filter((sql) => sql === "COMMIT")).toHaveLength(1);
    expect((await store.probe(1_000, NOW)).lanes[0]?.ready).toBe(300);
    close();
  });

  test("enqueues that come by separate events gather during a commit", async () => {
    const { database, ran, close } = watched(folder.file());
    const store = sqliteStore({ database });
    await store.probe(1, NOW);
    ran.length = 0;
    const calls = requests(200, "r").map(
      (request) =>
        new Promise<readonly string[]>((resolve, reject) => {
          setImmediate(() => store.enqueue([request], NOW).then(resolve, reject));
        }),
    );
    await Promise.all(calls);
    expect(ran.filter((sql) => sql === "COMMIT").length).toBeLessThanOrEqual(3);
    close();
  });

  test("each caller of a shared commit gets the answers about its own requests", async () => {
    const store = sqliteStore({ path: folder.file() });
    const [one, two, three] = requests(3, "r");
    await store.enqueue([two!], NOW);
    const answers = await Promise.all([
      store.enqueue([one!, two!], NOW),
      store.enqueue([], NOW),
      store.enqueue([{ ...one!, digest: "another" }], NOW),
      store.enqueue([three!, one!], NOW),
    ]);
    expect(answers).toEqual([["stored", "same"], [], ["conflict"], ["stored", "same"]]);
    await store.close();
  });

  test("ids that are taken, of before and of the same call, do not affect those beside them", async () => {
    const fresh = requests(47, "r").map((one, n) => ({ ...one, tenant: n % 3 ? "a" : "b", tokens: 10 + n }));
    const taken = (of: number): NewRequest => ({ ...fresh[of]!, digest: "another", tenant: "a", tokens: 9_000 });
    const given = [...fresh];
    for (const at of [40, 25, 13, 13, 4]) given.splice(at, 0, taken(at - 3));
    given.splice(6, 0, { ...taken(0), id: "known" });
    const answers = given.map((one) => (one.digest === "another" ? "conflict" : "stored"));
    const orders: string[][] = [];
    for (const call of [given, fresh]) {
      const store = sqliteStore({ path: folder.file() });
      await store.enqueue([{ ...fresh[0]!, id: "known", priority: 1 }], NOW);
      expect(await store.enqueue(call, NOW)).toEqual(call === given ? answers : fresh.map(() => "stored"));
      await store.seal(sealInput("one"));
      const rows = await store.requests({ batchKey: "one", fromOrd: 0, limit: 100, bodies: true });
      expect(rows.every(({ body }) => body !== null)).toBe(true);
      orders.push(rows.map(({ id }) => id));
      await store.close();
    }
    expect(orders[0]).toHaveLength(48);
    expect(orders[0]).toEqual(orders[1]);
  });

  test("a call of any size is one transaction", async () => {
    const { database, ran, close } = watched(folder.file());
    const store = sqliteStore({ database });
    await store.enqueue(requests(5_000, "r"), NOW);
    expect(ran.filter((sql) => sql === "COMMIT")).toHaveLength(2); // the tables, the requests
    close();
  });
});

describe("the database", () => {
  test("is written ahead and flushed at every commit", async () => {
    const database = new DatabaseSync(folder.file());
    const store = sqliteStore({ database });
    await store.probe(1, NOW);
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    database.close();
  });

  test("of the user stays open, keeps its own tables and its own version", async () => {
    const database = new DatabaseSync(folder.file());
    database.exec("CREATE TABLE request (mine TEXT); PRAGMA user_version = 7");
    const store = sqliteStore({ database });
    await store.enqueue(requests(1, "r"), NOW);
    await store.close();
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 7 });
    expect(database.prepare("SELECT count(*) AS n FROM request").get()).toEqual({ n: 0 });
    const again = sqliteStore({ database });
    expect((await again.probe(10, NOW)).lanes[0]?.ready).toBe(1);
    database.close();
  });

  test("is opened by the first call, not before", async () => {
    const store = sqliteStore({ path: "/nowhere/at/all/store.db" });
    await expect(store.probe(1, NOW)).rejects.toMatchObject({ code: "STORE_SCHEMA" });
    await store.close();
  });

  test("of a newer schema is refused and not changed", async () => {
    const path = folder.file();
    const store = sqliteStore({ path });
    await store.enqueue(requests(1, "r"), NOW);
    await store.close();
    const database = new DatabaseSync(path);
    database.exec("UPDATE batchwise_schema SET version = 99");
    await expect(sqliteStore({ database }).probe(1, NOW)).rejects.toThrow(/schema 99, newer/);
    expect(database.prepare("SELECT version FROM batchwise_schema").get()).toEqual({ version: 99 });
    database.close();
  });

  test("plans no statement of a seal as a scan of all requests", async () => {
    const { database, ran, close } = watched(folder.file());
    const store = sqliteStore({ database });
    await store.enqueue(requests(10, "r"), NOW);
    ran.length = 0;
    await store.seal({ ...sealInput("k"), maxBytes: 100 });
    const plans = ran
      .filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql))
      .flatMap((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]);
    const scans = plans.map(({ detail }) => detail).filter((detail) => /^SCAN batchwise_/.test(detail));
    expect(plans.length).toBeGreaterThan(10);
    expect(scans).toEqual([]);
    close();
  });
});

describe("options", () => {
  test.each<[object, RegExp]>([
    [{}, /exactly one of `path` and `database`/],
    [{ path: "a", database: new DatabaseSync(":memory:") }, /exactly one/],
    [{ path: "" }, /Expected `path` to be a file name, got ``|Expected `path` to be a file name/],
    [{ path: 3 }, /Expected `path` to be a file name/],
    [{ database: {} }, /Expected `database` to be an object with exec, prepare/],
    [{ file: "a" }, /Unknown option `file`/],
    [{ path: "a", busyTimeoutMs: -1 }, /Expected `busyTimeoutMs` to be a number >= 0/],
  ])("%o is refused", (options, message) => {
    const make = () => sqliteStore(options as SqliteStoreOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
  });
});
