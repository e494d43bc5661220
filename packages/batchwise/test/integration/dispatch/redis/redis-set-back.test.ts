// A real Redis server that loses what it has answered for: flushed under its dispatchers, or
// started again without its last writes. Each process finds out by itself, whatever others have
// written meanwhile; a server that lost nothing is suspected of nothing.

import { setTimeout as sleep } from "node:timers/promises";
import { createDispatcher, type Dispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { redisStore } from "batchwise/dispatch/redis";
import { fakeProvider } from "batchwise/dispatch/testing";
import type { Redis } from "ioredis";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { startOwnRedis } from "../../services/kept.ts";
import { clientAt, type RedisService } from "../../services/redis.ts";

let server: RedisService;
let admin: Redis;

beforeAll(async () => {
  server = await startOwnRedis();
  admin = clientAt(server.port);
});
afterAll(async () => {
  admin?.disconnect();
  await server?.stop();
});
beforeEach(() => admin.flushall());

const setBack = expect.objectContaining({ name: "DispatchError", code: "STORE_SET_BACK", retryable: true });

/** A store as another process has it: with a connection of its own. */
function processStore(): Store {
  const client = clientAt(server.port);
  onTestFinished(() => client.disconnect());
  return redisStore({ client });
}

/** Whatever `work` writes is answered, and gone after it. */
async function loseAfterwards(work: () => Promise<unknown>): Promise<void> {
  await admin.config("SET", "appendonly", "no");
  await work();
  await server.killAndRestart();
}

describe("a flushed server", () => {
  async function dispatch(): Promise<{ readonly dispatcher: Dispatcher; readonly told: unknown[] }> {
    const fake = fakeProvider({ plan: { validateMs: 50, runMs: 3_600_000, finalizeMs: 50 } });
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const told: unknown[] = [];
    const dispatcher = createDispatcher({
      store: processStore(),
      accounts: [openaiAccount({ client, pollMs: 100 })],
      thresholds: { maxRequests: 50 },
      onError: (error) => told.push(error),
    });
    onTestFinished(() => dispatcher.stop());
    return { dispatcher, told };
  }
  const ask = (n: number) => ({ id: `r${n}`, body: { model: "m", messages: [{ role: "user", content: `${n}` }] } });

  test("ends each wait for lost data, in every process, with an error", async () => {
    const { dispatcher: runs, told } = await dispatch();
    const { dispatcher: waits, told: toldToo } = await dispatch();
    await runs.start();
    await runs.enqueueMany(Array.from({ length: 50 }, (_, n) => ask(n)));
    const read = async (dispatcher: Dispatcher): Promise<number> => {
      let count = 0;
      for await (const _ of dispatcher.outcomes({ untilIdle: true })) count += 1;
      return count;
    };
    const ends = Promise.allSettled([runs.result("r1"), waits.result("r2"), read(runs), read(waits)]);
    await sleep(500);
    await admin.flushall();
    expect(await ends).toEqual(Array.from({ length: 4 }, () => ({ status: "rejected", reason: setBack })));
    expect([told, toldToo]).toEqual([[setBack], [setBack]]);
    await expect(runs.enqueue(ask(1))).resolves.toEqual({ id: "r1", existing: false });
  });

  test("is found out too when others have written more since than it had before", async () => {
    const [store, other] = [processStore(), processStore()];
    await store.enqueue(requests(3, "a"), NOW);
    await admin.flushall();
    for (let call = 0; call < 5; call += 1) await other.enqueue(requests(3, `b${call}-`), NOW);
    await expect(store.outcomes({ after: 0, limit: 10 })).rejects.toEqual(setBack);
    expect(store.setBack).toEqual(setBack);
    expect(await store.enqueue(requests(3, "a"), NOW)).toEqual(["stored", "stored", "stored"]);
    expect(other.setBack).toBeNull();
  });
});

describe("a flushed server, read for its requests, sums or marks", () => {
  const ask = { match: {}, after: 0, limit: 10 };
  test.each<[string, (store: Store) => Promise<unknown>, unknown]>([
    ["find", (store) => store.find(ask), { rows: [], next: null }],
    ["usage", (store) => store.usage({}), []],
    ["marks that are read", (store) => store.marks([], NOW), []],
    [
      "marks that are written",
      (store) => store.marks([{ name: "m", expected: null, value: "2" }], NOW),
      [{ name: "m", value: "2" }],
    ],
    ["a job's outcomes", (store) => store.outcomes({ after: 0, limit: 10, job: "j" }), []],
  ])("is found out by %s, which does nothing", async (_name, call, afterwards) => {
    const [store, other] = [processStore(), processStore()];
    await store.marks([{ name: "m", expected: null, value: "1" }], NOW);
    await store.enqueue(requests(3, "a"), NOW);
    expect((await store.find(ask)).rows).toHaveLength(3);
    await admin.flushall();
    await expect(call(store)).rejects.toEqual(setBack);
    expect(await other.marks([], NOW)).toEqual([]);
    expect(await call(store)).toEqual(afterwards);
  });
});

describe("a server that comes back without its last writes", () => {
  test("is detected only by processes that have seen them, whatever others have written since", async () => {
    const [store, idle, other] = [processStore(), processStore(), processStore()];
    await store.enqueue(requests(3, "kept"), NOW);
    expect(await idle.requests({ ids: ["kept0"] })).toHaveLength(1);
    await loseAfterwards(() => store.enqueue(requests(3, "lost"), NOW));
    for (let call = 0; call < 5; call += 1) await other.enqueue(requests(3, `b${call}-`), NOW);
    await expect(store.probe(1, NOW)).rejects.toEqual(setBack);
    const ids = [...requests(3, "kept"), ...requests(3, "lost")].map(({ id }) => id);
    expect((await store.requests({ ids })).map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect((await idle.requests({ ids })).map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(idle.setBack).toBeNull();
  });

  test("takes no write on a batch whose fence it has given out again", async () => {
    const [store, other] = [processStore(), processStore()];
    await store.enqueue(requests(3, "r"), NOW);
    expect(await store.seal({ ...sealInput("b"), owner: "first" })).toMatchObject({ ok: true });
    const lease = { now: NOW + 1e9, leaseUntil: NOW + 2e9, accounts: [sealInput("b").account], limit: 1 };
    await loseAfterwards(() => store.lease({ ...lease, owner: "first" }));
    expect(await other.lease({ ...lease, owner: "second" })).toMatchObject([{ fence: 2, leaseOwner: "second" }]);
    await expect(store.transition("b", 2, { lastError: '"mine"' }, NOW)).rejects.toEqual(setBack);
    expect(await other.batches({ limit: 1 })).toMatchObject([{ lastError: null }]);
  });

  test("is reported once to all calls that were begun before", async () => {
    const store = processStore();
    await loseAfterwards(() => store.enqueue(requests(3, "lost"), NOW));
    const calls = Array.from({ length: 4 }, () => store.probe(1, NOW));
    const ends = await Promise.allSettled(calls);
    expect(ends.map((end) => end.status === "rejected" && end.reason === store.setBack)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });
});

describe("a server that was killed and has lost nothing", () => {
  test("continues as if nothing had been", async () => {
    const [store, other] = [processStore(), processStore()];
    for (let round = 0; round < 3; round += 1) {
      await store.enqueue(requests(3, `r${round}-`), NOW);
      await other.probe(1, NOW);
      await server.killAndRestart();
    }
    expect(await other.enqueue(requests(3, "r2-"), NOW)).toEqual(["same", "same", "same"]);
    expect((await store.probe(100, NOW)).lanes).toMatchObject([{ ready: 9 }]);
    expect([store.setBack, other.setBack]).toEqual([null, null]);
  });

  test("is no other for a user who may not read which run it is", async () => {
    await admin.acl("SETUSER", "plain", "on", ">word", "~*", "+@all", "-info");
    const client = admin.duplicate({ username: "plain", password: "word", enableReadyCheck: false });
    onTestFinished(() => client.disconnect());
    const store = redisStore({ client });
    expect(await store.enqueue(requests(3, "a"), NOW)).toEqual(["stored", "stored", "stored"]);
    await admin.flushall();
    await expect(store.probe(1, NOW)).rejects.toEqual(setBack);
  });
});
