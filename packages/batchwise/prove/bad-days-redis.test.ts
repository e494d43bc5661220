// Bad days of a real Redis under a busy dispatcher: a server that is stopped (SIGSTOP), one that
// evicts keys, and settings that change while a connection is lost. What hangs is reported, a stop
// ends within ten seconds, no request of a server that keeps its keys is lost or runs twice. Some
// two minutes.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type RedisStoreOptions, redisStore } from "../src/dispatch/stores/redis/index.ts";
import { startOwnRedis } from "../test/integration/services/kept.ts";
import { clientAt, type RedisService } from "../test/integration/services/redis.ts";
import { asks, busyOn, dispatcherOn, endsWell, provider, SECOND, stopsInTime, until } from "./bad-days-kit.ts";

let server: RedisService;
beforeAll(async () => {
  server = await startOwnRedis();
});
afterAll(() => server?.stop());

async function storeOn(service: RedisService, options: Partial<RedisStoreOptions> = {}) {
  const { port, prefix } = await service.place();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  return { client, store: redisStore({ client, prefix, ...options }) };
}

/** Stops the process of the server; the answer lets it go on. */
async function freeze({ port }: RedisService): Promise<() => void> {
  const admin = clientAt(port);
  const pid = Number(/process_id:(\d+)/.exec(await admin.info("server"))?.[1]);
  admin.disconnect();
  process.kill(pid, "SIGSTOP");
  const thaw = (): void => void process.kill(pid, "SIGCONT");
  onTestFinished(thaw);
  return thaw;
}

const slow = (codes: readonly string[]): number => codes.filter((code) => code === "STORE_SLOW").length;

test("a server that is stopped is reported once, and once more when it continues; each request ends once", async () => {
  const { store } = await storeOn(server);
  const here = await provider();
  const { dispatcher, codes } = await busyOn(store, here, 100);
  const thaw = await freeze(server);
  const late = dispatcher.enqueueMany(asks(10, "late"));
  await until(() => slow(codes) > 0);
  await sleep(30 * SECOND);
  expect(slow(codes)).toBe(1);
  thaw();
  expect((await late).map(({ existing }) => existing)).not.toContain(true);
  await until(() => slow(codes) > 1);
  await until(async () => (await store.probe(1, Date.now())).cursor >= 110);
  expect(slow(codes)).toBe(2);
  await stopsInTime(dispatcher);
  await endsWell(store, here, 110);
});

test("a stop while the server is stopped ends in time, its calls may be made again, and each request ends once", async () => {
  const { store } = await storeOn(server);
  const here = await provider();
  const { dispatcher, codes } = await busyOn(store, here, 100);
  const thaw = await freeze(server);
  const late = asks(10, "late");
  const enqueued = dispatcher.enqueueMany(late).catch((error: unknown) => error);
  await until(() => slow(codes) > 0);
  await stopsInTime(dispatcher);
  expect(await enqueued).toMatchObject({ code: "STORE_UNAVAILABLE", retryable: true });
  thaw();
  await dispatcherOn(store, here.url).dispatcher.enqueueMany(late);
  await endsWell(store, here, 110);
});

test("a server that was set to evict while an idle connection was lost is reported within a minute or so", async () => {
  const { store, client } = await storeOn(server);
  const here = await provider();
  const { codes } = await busyOn(store, here, 1);
  const admin = clientAt(server.port);
  onTestFinished(async () => {
    await admin.config("SET", "maxmemory", 0);
    await admin.config("SET", "maxmemory-policy", "noeviction");
    admin.disconnect();
  });
  await admin.config("SET", "maxmemory", 500_000_000);
  await admin.config("SET", "maxmemory-policy", "allkeys-lru");
  await admin.client("KILL", "ID", await client.client("ID"));
  await until(() => codes.includes("STORE_EVICTS"), 90 * SECOND);
});

test("a server that evicts keys is refused; where that is allowed it is reported, requests go missing, and no process hangs", async () => {
  const small = await startOwnRedis({ appendfsync: "everysec" });
  onTestFinished(() => small.stop());
  const { client, store } = await storeOn(small, { allowEviction: true });
  await client.config("SET", "maxmemory", 12_000_000);
  await client.config("SET", "maxmemory-policy", "allkeys-lru");
  const here = await provider();
  const refused = dispatcherOn((await storeOn(small)).store, here.url);
  await expect(refused.dispatcher.start()).rejects.toMatchObject({ code: "STORE_EVICTS", retryable: false });
  expect(refused.codes).toEqual(["STORE_EVICTS"]);

  const { dispatcher, codes } = dispatcherOn(store, here.url);
  await dispatcher.start();
  expect(codes).toEqual(["STORE_AT_RISK"]);
  const calls = Array.from({ length: 80 }, (_, call) => asks(100, `call-${call}`));
  let acknowledged = 0;
  for (const some of calls) {
    acknowledged += await dispatcher.enqueueMany(some).then(
      () => some.length,
      () => 0,
    );
  }
  const evicted = Number(/evicted_keys:(\d+)/.exec(await client.info("stats"))?.[1]);
  console.log(`${acknowledged} acknowledged, ${evicted} keys evicted; ${[...new Set(codes)].join(", ")}`);
  expect(evicted).toBeGreaterThan(0);
  await stopsInTime(dispatcher);

  // What is left of the store is of no use: under another prefix all are enqueued again, and end.
  await client.config("SET", "maxmemory", 0);
  await client.config("SET", "maxmemory-policy", "noeviction");
  const fresh = await storeOn(small);
  const there = await provider();
  const producer = dispatcherOn(fresh.store, there.url);
  for (const some of calls) await producer.dispatcher.enqueueMany(some);
  await endsWell(fresh.store, there, 8_000);
});
