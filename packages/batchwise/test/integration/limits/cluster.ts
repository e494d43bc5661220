// A Redis Cluster for tests: three nodes with a third of the keys each, and a replica of each of them.

import { Cluster, type Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { startOwnRedis } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";
import { pause } from "./kit.ts";

export interface TestCluster {
  readonly client: Cluster;
  /** Clients of the nodes: first those that have the keys, then their replicas. */
  readonly nodes: readonly Redis[];
}

const SLOTS = 16_384;
const MASTERS = 3;

export async function startCluster(): Promise<TestCluster> {
  const servers = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startOwnRedis({ isNode: true })));
  const nodes = servers.map(({ port }) => clientAt(port));
  onTestFinished(async () => {
    for (const node of nodes) node.disconnect();
    for (const server of servers) await server.stop();
  });
  const ids: string[] = [];
  for (const [index, node] of nodes.entries()) {
    ids.push(String(await node.call("CLUSTER", "MYID")));
    await node.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    if (index >= MASTERS) continue;
    const [first, next] = [index, index + 1].map((third) => Math.floor((SLOTS * third) / MASTERS));
    await node.call("CLUSTER", "ADDSLOTSRANGE", Number(first), Number(next) - 1);
  }
  for (const node of nodes) {
    const [, bus] = (await node.call("CONFIG", "GET", "cluster-port")) as string[];
    await nodes[0]?.call("CLUSTER", "MEET", "127.0.0.1", Number(node.options.port), String(bus));
  }
  await untilAllSay(nodes, `cluster_known_nodes:${nodes.length}`);
  for (const [index, node] of nodes.slice(MASTERS).entries()) {
    await node.call("CLUSTER", "REPLICATE", String(ids[index]));
  }
  await untilAllSay(nodes, "cluster_state:ok");
  for (const node of nodes.slice(MASTERS)) {
    while (!(await node.info("replication")).includes("master_link_status:up")) await pause(50);
  }
  const client = new Cluster(servers.slice(0, MASTERS).map(({ port }) => ({ host: "127.0.0.1", port })));
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.ping();
  return { client, nodes };
}

async function untilAllSay(nodes: readonly Redis[], text: string): Promise<void> {
  for (const node of nodes) {
    while (!String(await node.call("CLUSTER", "INFO")).includes(text)) await pause(50);
  }
}
