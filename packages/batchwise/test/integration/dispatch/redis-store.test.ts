// The Redis store on a real server: the whole contract, and what a killed server still knows.

import { redisStore } from "batchwise/dispatch/redis";
import { describe, expect, test } from "vitest";
import { describeStore } from "../../dispatch/stores/conformance.ts";
import { NOW, requests, sealInput } from "../../dispatch/stores/sqlite/folder.ts";
import { redisPlace, startOwnRedis } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";

describeStore("the Redis store", true, async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  return { open: async () => redisStore({ client, prefix }), remove: async () => client.disconnect() };
});

describe("a server that is killed, with an append-only file flushed always", () => {
  test("keeps every request that was answered, and what was sealed of them", async () => {
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
