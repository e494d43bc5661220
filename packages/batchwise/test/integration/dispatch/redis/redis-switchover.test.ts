// Two real Redis servers behind a proxy that change their roles while a client is connected: the
// connection stays with the server that has become a replica, until the store leaves it.

import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { clientAt } from "../../services/redis.ts";
import { startRedisPair } from "../../services/redis-pair.ts";

test("a client that is led to the new primary drops the old one, with all that was stored and nothing lost", async () => {
  const { proxy, secondPort, failOver } = await startRedisPair();
  const client = clientAt(proxy.port);
  onTestFinished(() => client.disconnect());
  const store = redisStore({ client });
  await store.enqueue(requests(3, "before"), NOW);

  await failOver();
  const during = store.enqueue(requests(1, "during"), NOW);
  await expect(during).rejects.toMatchObject({ code: "STORE_READ_ONLY", retryable: true });
  expect(await store.requests({ ids: ["before0"] })).toHaveLength(1);

  proxy.lead(secondPort);
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
