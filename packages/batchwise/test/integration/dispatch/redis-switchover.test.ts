// Two real Redis servers behind a proxy that change their roles while a client is connected: the
// connection stays with the server that has become a replica, until the store leaves it.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests } from "../../dispatch/stores/sqlite/folder.ts";
import { startOwnRedis } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";
import { startTcpProxy } from "../services/tcp-proxy.ts";

async function startServer() {
  const server = await startOwnRedis();
  const admin = clientAt(server.port);
  onTestFinished(async () => {
    admin.disconnect();
    await server.stop();
  });
  return { port: server.port, admin, says: async () => await admin.info("replication") };
}

test("a client that is led to the new primary leaves the old one, with all that was stored and nothing lost", async () => {
  const [first, second] = [await startServer(), await startServer()];
  await second.admin.replicaof("127.0.0.1", first.port);
  await expect.poll(second.says, { timeout: 10_000 }).toContain("master_link_status:up");
  await expect.poll(first.says, { timeout: 10_000 }).toContain("state=online");
  const proxy = await startTcpProxy(first.port);
  const client = clientAt(proxy.port);
  onTestFinished(async () => {
    client.disconnect();
    await proxy.close();
  });
  const store = redisStore({ client });
  await store.enqueue(requests(3, "before"), NOW);

  await first.admin.call("FAILOVER", "TO", "127.0.0.1", String(second.port));
  await expect.poll(first.says, { timeout: 10_000 }).toContain("role:slave");
  await expect.poll(second.says).toContain("role:master");
  const during = store.enqueue(requests(1, "during"), NOW);
  await expect(during).rejects.toMatchObject({ code: "STORE_READ_ONLY", retryable: true });
  expect(await store.requests({ ids: ["before0"] })).toHaveLength(1);

  proxy.lead(second.port);
  const enqueue = async (): Promise<unknown> => {
    return store.enqueue(requests(1, "after"), NOW).then(
      ([answer]) => answer,
      ({ code }) => code,
    );
  };
  await expect.poll(enqueue, { timeout: 10_000 }).toMatch(/^(stored|same)$/);
  expect(await store.requests({ ids: ["before0", "before1", "before2", "after0"] })).toHaveLength(4);
  expect(store.setBack).toBeNull();
}, 60_000);
