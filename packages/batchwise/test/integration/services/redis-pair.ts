// Two Redis servers of a test behind a proxy: a primary, to which the proxy connects, and its
// replica. A failover swaps their roles and ends no connection.

import { expect, onTestFinished } from "vitest";
import { startOwnRedis } from "./kept.ts";
import { clientAt } from "./redis.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

export interface RedisPair {
  readonly proxy: TcpProxy;
  /** The port of the server that is the replica at the start. */
  readonly secondPort: number;
  /** Swaps the roles. The proxy still connects to the former primary. */
  failOver(): Promise<void>;
}

export async function startRedisPair(): Promise<RedisPair> {
  const [first, second] = [await startServer(), await startServer()];
  await second.admin.replicaof("127.0.0.1", first.port);
  await expect.poll(second.says, { timeout: 10_000 }).toContain("master_link_status:up");
  await expect.poll(first.says, { timeout: 10_000 }).toContain("state=online");
  const proxy = await startTcpProxy(first.port);
  onTestFinished(() => proxy.close());
  return {
    proxy,
    secondPort: second.port,
    failOver: async () => {
      await first.admin.call("FAILOVER", "TO", "127.0.0.1", String(second.port));
      await expect.poll(first.says, { timeout: 10_000 }).toContain("role:slave");
      await expect.poll(second.says).toContain("role:master");
    },
  };
}

async function startServer() {
  const server = await startOwnRedis();
  const admin = clientAt(server.port);
  onTestFinished(async () => {
    admin.disconnect();
    await server.stop();
  });
  return { port: server.port, admin, says: async () => await admin.info("replication") };
}
