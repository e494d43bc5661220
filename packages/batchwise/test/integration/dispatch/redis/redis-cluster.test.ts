// The store on a Redis Cluster, whose nodes forget their scripts, and one of whose nodes is not the
// one that has the keys.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { startCluster } from "../../limits/cluster.ts";
import { clientAt } from "../../services/redis.ts";
import { startTcpProxy } from "../../services/tcp-proxy.ts";

const isHere = (): boolean => true;
const isMoved = (): boolean => false;

test("nodes of a cluster keep stores, also when they forget their scripts: no call is rejected", async () => {
  const { client, nodes } = await startCluster();
  // Of twelve prefixes every node has some.
  const stores = Array.from({ length: 12 }, (_, index) => redisStore({ client, prefix: `store-${index}` }));
  const answers: string[] = [];
  for (const store of stores) {
    for (const node of nodes) await node.call("SCRIPT", "FLUSH");
    const [answer] = await store.enqueue(requests(1, "r"), NOW).catch((error: unknown) => [String(error)]);
    answers.push(String(answer));
  }
  expect(answers).toEqual(Array.from({ length: 12 }, () => "stored"));
  const probes = await Promise.all(stores.map((store) => store.probe(10, NOW)));
  expect(probes.map(({ lanes }) => lanes[0]?.ready)).toEqual(Array.from({ length: 12 }, () => 1));

  // One address in front of the nodes, and a client that does not know of the cluster.
  const [first, second] = nodes.map((node) => Number(node.options.port));
  const proxy = await startTcpProxy(Number(first));
  onTestFinished(() => proxy.close());
  const plain = clientAt(proxy.port);
  onTestFinished(() => plain.disconnect());
  const owners = await Promise.all(stores.map((_, index) => nodes[1]?.get(`{store-${index}}:`).then(isHere, isMoved)));
  const store = redisStore({ client: plain, prefix: `store-${owners.indexOf(true)}` });
  const moved = { code: "STORE_UNAVAILABLE", retryable: true, message: expect.stringMatching(/Cluster.*MOVED/) };
  await expect(store.probe(10, NOW)).rejects.toMatchObject(moved);
  proxy.lead(Number(second));
  await expect.poll(() => store.probe(10, NOW).then(({ lanes }) => lanes[0]?.ready, isMoved)).toBe(1);
});
