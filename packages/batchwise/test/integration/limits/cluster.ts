// A Redis Cluster for tests: three nodes with a third of the keys each, and a replica of each.

import { Cluster, type Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { startOwnRedis } from "../services/kept.ts";
import { clientAt } from "../services/redis.ts";
import { pause } from "./kit.ts";

export interface TestCluster {
  readonly client: Cluster;
  /** Clients of the nodes: first the masters, then their replicas. */
  readonly nodes: readonly Redis[];
}

const SLOTS = 16_384;
const MASTERS = 3;
/**
 * Time in ms after which a replica that has not won asks again: a manual election ends after five
 * seconds.
 */
const ELECTION_MS = 6_000;
const LOOK_MS = 50;

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
    while (!(await node.info("replication")).includes("master_link_status:up")) await pause(LOOK_MS);
  }
  const client = new Cluster(servers.slice(0, MASTERS).map(({ port }) => ({ host: "127.0.0.1", port })));
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.ping();
  return { client, nodes };
}

/**
 * Makes a replica the master of its part. One at a time: masters vote once per epoch, so of two
 * replicas that ask at once one may get no majority, and it does not ask again by itself.
 */
export async function takeOver(replica: Redis): Promise<void> {
  for (let looks = 0; !(await replica.info("replication")).includes("role:master"); looks += 1) {
    if (looks % (ELECTION_MS / LOOK_MS) === 0) await replica.call("CLUSTER", "FAILOVER").catch(() => {});
    await pause(LOOK_MS);
  }
}

async function untilAllSay(nodes: readonly Redis[], text: string): Promise<void> {
  for (const node of nodes) {
    while (!String(await node.call("CLUSTER", "INFO")).includes(text)) await pause(LOOK_MS);
  }
}
