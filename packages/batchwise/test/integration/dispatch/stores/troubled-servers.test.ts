// Servers that cannot be written to for a while: a full disk, no memory left, read-only. Real ones,
// with the trouble made as an operator would meet it. Intake stops with the store's own error,
// reads go on, and what was taken in before ends well once the trouble is over. SQLite's part:
// test/dispatch/stores/sqlite/abuse.test.ts.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createDispatcher, type Dispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { fakeProvider } from "batchwise/dispatch/testing";
import type { Redis } from "ioredis";
import OpenAI from "openai";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { emptyDisk, fillDisk } from "../../services/ballast.ts";
import { startOwnPostgres, startOwnRedis } from "../../services/kept.ts";
import { type PostgresService, poolAt, query } from "../../services/postgres.ts";
import { clientAt, type RedisService } from "../../services/redis.ts";

interface Trouble {
  readonly name: string;
  readonly code: "STORE_FULL" | "STORE_READ_ONLY";
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

const DISK_MB = 24;
/** More calls than the fullest server takes. */
const CALLS = 400;

function ask(id: string) {
  // By chance, so that no server makes it smaller.
  const content = randomBytes(3_000).toString("hex");
  return { id, body: { model: "m", max_tokens: 9, messages: [{ role: "user", content }] } };
}

function asks(count: number, name: string) {
  return Array.from({ length: count }, (_, n) => ask(`${name}-${n}`));
}

/** Enqueues until a call is refused; answers what was taken in before it, and the refusal. */
async function enqueueUntilRefused(dispatcher: Dispatcher) {
  const taken: string[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const some = asks(20, `during-${call}`);
    try {
      await dispatcher.enqueueMany(some);
      taken.push(...some.map(({ id }) => id));
    } catch (error) {
      return { taken, error, refused: some.map(({ id }) => id) };
    }
  }
  throw new Error("Nothing was refused.");
}

async function until(happened: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(25)) if (await happened()) return;
  throw new Error("It did not happen in time.");
}

/**
 * A dispatcher lives through the trouble: some requests are at the provider, some wait, some come
 * while it lasts.
 */
async function liveThrough(store: Store, trouble: Trouble): Promise<void> {
  const fake = fakeProvider({ plan: { validateMs: 50, runMs: 600, finalizeMs: 50 } });
  const http = await fake.listen();
  onTestFinished(() => http.close());
  const account = openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: `${http.url}/v1` }), pollMs: 100 });
  const reported: unknown[] = [];
  const dispatcher = createDispatcher({
    store,
    accounts: [account],
    thresholds: { maxRequests: 100, maxAgeMs: 1_000 },
    onError: (error) => reported.push((error as { code?: unknown }).code),
  });
  await dispatcher.start();
  await dispatcher.enqueueMany(asks(100, "running"));
  await until(async () => fake.calls("batches.create") > 0);
  await dispatcher.enqueueMany(asks(40, "waiting"));

  await trouble.begin();
  onTestFinished(async () => void (await trouble.end().catch(() => {})));
  const { taken, error, refused } = await enqueueUntilRefused(dispatcher);
  expect(error).toMatchObject({
    name: "DispatchError",
    code: trouble.code,
    retryable: trouble.code === "STORE_READ_ONLY",
  });
  expect((await store.requests({ ids: ["waiting-0", ...refused] })).map(({ id }) => id)).toEqual(["waiting-0"]);
  await until(async () => reported.includes(trouble.code));
  const { cursor } = await store.probe(1, Date.now());
  expect(await store.outcomes({ after: 0, limit: 1_000_000 })).toHaveLength(cursor);
  expect((await store.batches({ limit: 10 })).length).toBeGreaterThan(0);
  await trouble.end();

  // A server applies new settings a moment after the command.
  const after = asks(1, "after");
  await until(() =>
    dispatcher.enqueueMany(after).then(
      () => true,
      () => false,
    ),
  );
  const expected = 141 + taken.length;
  await until(async () => (await store.probe(1, Date.now())).cursor === expected);
  await dispatcher.stop();
  const outcomes = await store.outcomes({ after: 0, limit: 1_000_000 });
  expect(new Set(outcomes.map(({ id }) => id)).size).toBe(expected);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
  expect(await store.requests({ ids: refused })).toEqual([]);
  const runs = [...fake.runs().values()];
  expect([runs.length, Math.max(...runs)]).toEqual([expected, 1]);
}

describe("a PostgreSQL server", () => {
  let server: PostgresService;
  let admin: pg.PoolConfig;
  beforeAll(async () => {
    server = await startOwnPostgres({ diskMb: DISK_MB });
    admin = { ...(await server.place()), options: "-c default_transaction_read_only=off" };
  });
  afterAll(() => server?.stop());

  const troubles: readonly Trouble[] = [
    {
      name: "whose disk is full",
      code: "STORE_FULL",
      begin: async () => fillDisk(server.folder),
      end: async () => emptyDisk(server.folder),
    },
    {
      name: "that is set read-only",
      code: "STORE_READ_ONLY",
      begin: () => setReadOnly("on"),
      end: () => setReadOnly("off"),
    },
  ];

  async function setReadOnly(value: "on" | "off"): Promise<void> {
    await query(admin, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await query(admin, "SELECT pg_reload_conf()");
  }

  test.each(troubles)("$name refuses intake with $code, loses nothing, and continues afterwards", async (trouble) => {
    const pool = poolAt(await server.place());
    onTestFinished(() => pool.end());
    await liveThrough(postgresStore({ pool }), trouble);
  });
});

describe("a Redis server", () => {
  let server: RedisService;
  let client: Redis;
  beforeAll(async () => {
    server = await startOwnRedis({ appendfsync: "everysec", diskMb: DISK_MB });
    client = clientAt(server.port);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });

  const set = (name: string, value: string | number) => client.config("SET", name, value);
  const troubles: readonly Trouble[] = [
    {
      name: "without memory",
      code: "STORE_FULL",
      begin: async () => {
        const used = /^used_memory:(\d+)/m.exec(await client.info("memory"))?.[1];
        await set("maxmemory", Number(used) + 500_000);
      },
      end: () => set("maxmemory", 0),
    },
    {
      name: "whose disk is full",
      code: "STORE_FULL",
      begin: async () => fillDisk(server.folder),
      end: async () => {
        emptyDisk(server.folder);
        // It tries again once a second.
        await until(async () => (await client.info("persistence")).includes("aof_last_write_status:ok"));
      },
    },
    {
      name: "that becomes a replica",
      code: "STORE_READ_ONLY",
      begin: () => client.replicaof("127.0.0.1", 1),
      end: () => client.replicaof("NO", "ONE"),
    },
    {
      name: "that wants replicas and has none",
      code: "STORE_READ_ONLY",
      begin: () => set("min-replicas-to-write", 1),
      end: () => set("min-replicas-to-write", 0),
    },
  ];

  test.each(troubles)("$name refuses intake with $code, loses nothing, and continues afterwards", async (trouble) => {
    const { prefix } = await server.place();
    await liveThrough(redisStore({ client, prefix }), trouble);
  });

  test("that flushes always and whose disk is full ends, and starts again with all that it has answered", async () => {
    const strict = await startOwnRedis({ diskMb: DISK_MB });
    const connection = clientAt(strict.port, 0);
    onTestFinished(() => connection.disconnect());
    const store = redisStore({ client: connection });
    const answered: string[] = [];
    const enqueueSome = async (call: number): Promise<void> => {
      const some = requests(20, `r${call}-`, 500);
      await store.enqueue(some, NOW);
      answered.push(...some.map(({ id }) => id));
    };
    for (let call = 0; call < 10; call += 1) await enqueueSome(call);
    fillDisk(strict.folder);
    const filling = (async () => {
      for (let call = 10; call < CALLS; call += 1) await enqueueSome(call);
    })();
    await expect(filling).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    emptyDisk(strict.folder);
    await strict.killAndRestart();
    expect(await store.requests({ ids: answered })).toHaveLength(answered.length);
    await expect(store.enqueue(requests(1, "after"), NOW)).resolves.toEqual(["stored"]);
    await strict.stop();
  });
});
