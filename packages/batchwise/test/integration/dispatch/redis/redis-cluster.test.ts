// The store on a Redis Cluster, whose nodes forget their scripts.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, test } from "vitest";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { startCluster } from "../../limits/cluster.ts";

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
});
