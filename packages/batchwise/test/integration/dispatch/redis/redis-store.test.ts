// The Redis store on a real server: the whole contract, and what a killed server still knows.

import { type RedisClient, redisStore } from "batchwise/dispatch/redis";
import { Redis as IoRedis5 } from "ioredis-5";
import { createClient, createClientPool, createCluster } from "redis";
import { createClient as createClient5, RESP_TYPES } from "redis-5";
import { describe, expect, test } from "vitest";
import { describeStore } from "../../../dispatch/stores/conformance.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { redisPlace, startOwnRedis } from "../../services/kept.ts";
import { clientAt } from "../../services/redis.ts";

interface Connection {
  readonly client: RedisClient;
  readonly end: () => void;
}

const connections: readonly (readonly [name: string, connect: (port: number) => Promise<Connection>])[] = [
  [
    "ioredis 6",
    async (port) => {
      const client = clientAt(port);
      return { client, end: () => client.disconnect() };
    },
  ],
  [
    "ioredis 5, which gives numbers as texts",
    async (port) => {
      const client = new IoRedis5({ host: "127.0.0.1", port, stringNumbers: true });
      return { client, end: () => client.disconnect() };
    },
  ],
  [
    "node-redis 6",
    async (port) => {
      const client = await nodeRedisAt(port);
      return { client, end: () => client.destroy() };
    },
  ],
  [
    "a pool of node-redis 6",
    async (port) => {
      const client = createClientPool({ socket: { host: "127.0.0.1", port } });
      client.on("error", () => {});
      await client.connect();
      return { client, end: () => client.destroy() };
    },
  ],
  [
    "node-redis 5, which gives numbers as texts",
    async (port) => {
      const commandOptions = { typeMapping: { [RESP_TYPES.NUMBER]: String } };
      const client = createClient5({ socket: { host: "127.0.0.1", port }, commandOptions });
      client.on("error", () => {});
      await client.connect();
      return { client, end: () => client.destroy() };
    },
  ],
];

async function nodeRedisAt(port: number) {
  const client = createClient({ socket: { host: "127.0.0.1", port } });
  client.on("error", () => {});
  await client.connect();
  return client;
}

describe.each(connections)("over %s", (_name, connect) => {
  describeStore("the Redis store", true, async () => {
    const { port, prefix } = await redisPlace();
    const { client, end } = await connect(port);
    return { open: async () => redisStore({ client, prefix }), remove: async () => end() };
  });
});

describe("a client that is none", () => {
  test.each([
    ["a cluster of node-redis", createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] })],
    ["an object without methods", {}],
    ["nothing", undefined],
  ])("%s is refused in words", (_name, client) => {
    expect(() => redisStore({ client: client as never })).toThrow(
      "Expected `client` to be a client of ioredis, or a client or pool of node-redis 5 or later, got",
    );
  });
});

describe("a server that restarted without its scripts", () => {
  test("gets them again, also by node-redis, and a cut call is repeated by its caller", async () => {
    const server = await startOwnRedis();
    const client = await nodeRedisAt(server.port);
    const store = redisStore({ client });
    expect(await store.enqueue(requests(3, "a"), NOW)).toEqual(["stored", "stored", "stored"]);
    await server.killAndRestart();
    for (let tries = 0; !client.isReady && tries < 200; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect(await store.enqueue(requests(3, "a"), NOW)).toEqual(["same", "same", "same"]);
    client.destroy();
    await expect(store.probe(1, NOW)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
    await server.stop();
  });
});

describe("a server that is killed, with an append-only file flushed always", () => {
  test("keeps every answered request, and every sealed one of them", async () => {
    const server = await startOwnRedis();
    const client = clientAt(server.port);
    const store = redisStore({ client });
    const answered: string[] = [];
    let isKilled = false;
    const work = Array.from({ length: 8 }, async (_, producer) => {
      for (let call = 0; !isKilled; call += 1) {
        const some = requests(20, `p${producer}-${call}-`, 500);
        const answers = await store.enqueue(some, NOW).catch(() => null);
        if (answers !== null) answered.push(...some.map(({ id }) => id));
      }
    });
    await new Promise((resolve) => setTimeout(resolve, 400));
    const sealed = await store.seal(sealInput("before", 37));
    const restarted = server.killAndRestart();
    isKilled = true;
    await Promise.all([restarted, ...work]);
    expect(answered.length).toBeGreaterThan(100);
    const rows = await store.requests({ ids: answered });
    expect(rows).toHaveLength(answered.length);
    expect(sealed).toMatchObject({ ok: true, batch: { key: "before", requests: 37 } });
    expect(await store.batches({ limit: 10 })).toEqual(sealed.ok ? [sealed.batch] : []);
    expect(rows.filter(({ batchKey }) => batchKey === "before").length).toBeGreaterThan(0);
    await store.close();
    client.disconnect();
    await server.stop();
  });
});
