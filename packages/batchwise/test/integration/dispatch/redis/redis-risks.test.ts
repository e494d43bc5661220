// A real Redis server whose settings can lose what it has answered: it is found at the first call
// and after each restart, reported, and refused at the start where the server throws requests away.

import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type RedisStoreOptions, redisStore } from "batchwise/dispatch/redis";
import { fakeProvider } from "batchwise/dispatch/testing";
import { Redis } from "ioredis";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { startOwnRedis } from "../../services/kept.ts";
import { clientAt, type RedisService } from "../../services/redis.ts";

let server: RedisService;
let admin: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  admin = clientAt(server.port);
});
afterAll(async () => {
  admin?.disconnect();
  await server?.stop();
});

const MEMORY = 120_000_000;

async function set(settings: Readonly<Record<string, string | number>>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await admin.config("SET", name, value);
}

/** The settings are those of a server without risks again at the end of the test. */
async function setForTest(settings: Readonly<Record<string, string | number>>): Promise<void> {
  onTestFinished(async () => {
    await set({ maxmemory: 0, "maxmemory-policy": "noeviction", appendonly: "yes" });
    await expect.poll(isRewriting, { timeout: 20_000 }).toBe(false);
  });
  await set(settings);
}

/**
 * A server that starts a new append-only file loses its confirmed writes until the file is written.
 */
async function isRewriting(): Promise<boolean> {
  return /aof_rewrite_(in_progress|scheduled):1/.test(await admin.info("persistence"));
}

async function freshStore(options: Partial<RedisStoreOptions> = {}): Promise<Store> {
  const { prefix } = await server.place();
  const client = clientAt(server.port);
  onTestFinished(() => client.disconnect());
  return redisStore({ client, prefix, ...options });
}

function dispatcherOn(store: Store) {
  const fake = fakeProvider();
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const told: { readonly code?: unknown }[] = [];
  const onError = (error: unknown): void => void told.push(error as { readonly code?: unknown });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })], onError });
  onTestFinished(() => dispatcher.stop());
  return { dispatcher, told };
}

test("that evicts keys of any kind refuses the start, and starts once the policy is corrected", async () => {
  await setForTest({ maxmemory: MEMORY, "maxmemory-policy": "allkeys-lru" });
  const { dispatcher, told } = dispatcherOn(await freshStore());
  const message = expect.stringMatching(/`maxmemory-policy allkeys-lru`.*120000000 bytes.*noeviction.*allowEviction/);
  const refused = { code: "STORE_EVICTS", retryable: false, message };
  await expect(dispatcher.start()).rejects.toMatchObject(refused);
  expect(told).toEqual([expect.objectContaining(refused)]);
  await set({ "maxmemory-policy": "noeviction" });
  await dispatcher.start();
});

test("that evicts keys of any kind is started on where that is allowed, and reported once", async () => {
  await setForTest({ maxmemory: MEMORY, "maxmemory-policy": "allkeys-random" });
  const { dispatcher, told } = dispatcherOn(await freshStore({ allowEviction: true }));
  await dispatcher.start();
  await dispatcher.stats();
  const message = expect.stringContaining("throws requests and outcomes away");
  expect(told).toEqual([expect.objectContaining({ code: "STORE_AT_RISK", retryable: false, message })]);
});

test.each([
  ["has an evicting policy and no maxmemory", { "maxmemory-policy": "allkeys-lru" }, "once `maxmemory` is set"],
  [
    "evicts only keys that expire",
    { maxmemory: MEMORY, "maxmemory-policy": "volatile-ttl" },
    "evicts nothing of the store",
  ],
  ["keeps no append-only file", { appendonly: "no" }, "no append-only file"],
])("that %s is started on, and reported once", async (_name, settings, words) => {
  await setForTest(settings);
  const { dispatcher, told } = dispatcherOn(await freshStore());
  await dispatcher.start();
  await dispatcher.stats();
  const reported = expect.objectContaining({ code: "STORE_AT_RISK", message: expect.stringContaining(words) });
  expect(told).toEqual([reported]);
});

test("that becomes a replica is reported", async () => {
  await admin.replicaof("127.0.0.1", 1);
  onTestFinished(async () => void (await admin.replicaof("NO", "ONE")));
  const store = await freshStore();
  await store.probe(1, NOW);
  expect(store.risk).toMatchObject({ code: "STORE_AT_RISK", message: expect.stringContaining("replica") });
});

test("without risks reports nothing", async () => {
  const { dispatcher, told } = dispatcherOn(await freshStore());
  await dispatcher.start();
  await dispatcher.stats();
  expect(told).toEqual([]);
});

test("that restarted with other settings is checked again, even if no call failed meanwhile", async () => {
  const store = await freshStore();
  await store.enqueue(requests(1, "before"), NOW);
  await store.probe(1, NOW);
  expect(store.risk).toBeNull();
  await server.killAndRestart();
  await setForTest({ maxmemory: MEMORY, "maxmemory-policy": "allkeys-lfu" });
  await store.enqueue(requests(1, "after"), NOW);
  await store.probe(1, NOW);
  expect(store.risk).toMatchObject({ code: "STORE_EVICTS", message: expect.stringContaining("allkeys-lfu") });
  await set({ "maxmemory-policy": "noeviction" });
  await store.probe(1, NOW);
  expect(store.risk).toBeNull();
});

test("that was set to evict while a connection was lost, without a failed call, is looked at again after a minute", async () => {
  const { prefix } = await server.place();
  const client = clientAt(server.port);
  onTestFinished(() => client.disconnect());
  let secondsPassed = 0;
  // Calls end with the moment of the last look: it is moved into the past, as if time had passed
  // since.
  const call: Redis["call"] = (command: string, ...args: unknown[]) => {
    const lookedAt = String(args.pop());
    return client.call(command, ...(args as string[]), lookedAt && String(Number(lookedAt) - secondsPassed));
  };
  const store = redisStore({ client: { call }, prefix });
  await store.enqueue(requests(1, "before"), NOW);
  const connection = await client.client("ID");
  await setForTest({ maxmemory: MEMORY, "maxmemory-policy": "allkeys-lru" });
  await admin.client("KILL", "ID", connection);
  await expect.poll(() => client.status).toBe("ready");
  secondsPassed = 50;
  await store.enqueue(requests(1, "soon"), NOW);
  expect(store.risk).toBeNull();
  secondsPassed = 61;
  await store.enqueue(requests(1, "later"), NOW);
  expect(store.risk).toMatchObject({ code: "STORE_EVICTS", message: expect.stringContaining("allkeys-lru") });
});

test("of a user who may not run INFO refuses nothing, and says which facts are unknown", async () => {
  const { prefix } = await server.place();
  await admin.call("ACL", "SETUSER", prefix, "reset", "on", ">pw", "~*", "+@all", "-info");
  const client = new Redis({
    host: "127.0.0.1",
    port: server.port,
    username: prefix,
    password: "pw",
    enableReadyCheck: false,
  });
  onTestFinished(() => client.disconnect());
  await setForTest({ maxmemory: MEMORY, "maxmemory-policy": "allkeys-lru" });
  const { dispatcher, told } = dispatcherOn(redisStore({ client, prefix }));
  await dispatcher.start();
  const message = expect.stringContaining("may not run INFO (+info)");
  expect(told).toEqual([expect.objectContaining({ code: "STORE_AT_RISK", message })]);
  const store = redisStore({ client, prefix });
  expect(await store.enqueue(requests(1, "i"), NOW)).toEqual(["stored"]);
});
