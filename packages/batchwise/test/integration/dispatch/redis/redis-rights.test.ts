// Users of a real Redis server: one with exactly the rights that the docs list can do everything,
// and each fault of a login or a right is found before anything is written, with a code that stays.

import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { redisStore } from "batchwise/dispatch/redis";
import { fakeProvider } from "batchwise/dispatch/testing";
import { redisRateLimiter } from "batchwise/limits/redis";
import { Redis } from "ioredis";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { describeStore } from "../../../dispatch/stores/conformance.ts";
import { NOW, requests } from "../../../dispatch/stores/sqlite/folder.ts";
import { textOf } from "../../../house/repository.ts";
import { Taker } from "../../limits/kit.ts";
import { redisPlace, startOwnRedis } from "../../services/kept.ts";
import { clientAt, type RedisService } from "../../services/redis.ts";

const PASSWORD = "a password";
/** The rights in the docs: the pattern of the keys comes first. */
const [PATTERN = "", ...COMMANDS] = (
  /ACL SETUSER batchwise on >PASSWORD resetkeys ([^`]+)/.exec(textOf("docs/dispatch-stores.md"))?.[1] ?? ""
)
  .trim()
  .split(/\s+/);

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

async function setUser(name: string, prefix: string, ...more: readonly string[]): Promise<void> {
  const rights = [PATTERN.replace("batchwise", prefix), ...COMMANDS, ...more];
  await admin.call("ACL", "SETUSER", name, "reset", "on", `>${PASSWORD}`, ...rights);
}

/** Its connection is another one each time that the server refuses it. */
function clientOf(username: string, password = PASSWORD): Redis {
  const client = new Redis({ host: "127.0.0.1", port: server.port, username, password, enableReadyCheck: false });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

describe("a user with the rights that the docs list", () => {
  describeStore("the Redis store", true, async () => {
    const { prefix } = await server.place();
    await setUser(prefix, prefix);
    const client = new Redis({ host: "127.0.0.1", port: server.port, username: prefix, password: PASSWORD });
    return { open: async () => redisStore({ client, prefix }), remove: async () => client.disconnect() };
  });

  test("needs each of them: without one, nothing is written, and the error names it", async () => {
    const { prefix } = await server.place();
    const needed = COMMANDS.filter((right) => right !== "+info");
    expect(needed.length).toBeGreaterThan(30);
    for (const right of needed) {
      await setUser(prefix, prefix, right.replace("+", "-"));
      await admin.call("SCRIPT", "FLUSH");
      const client = clientOf(prefix);
      const refused = redisStore({ client, prefix }).enqueue(requests(1, "r"), NOW);
      const message = expect.stringMatching(new RegExp(`\\b${right.slice(1)}\\b`, "i"));
      await expect(refused, right).rejects.toMatchObject({ code: "STORE_FORBIDDEN", retryable: false, message });
      client.disconnect();
    }
    expect(await admin.keys(`{${prefix}}:*`)).toEqual([]);
  });

  test("may go without INFO", async () => {
    const { prefix } = await server.place();
    await setUser(prefix, prefix, "-info");
    const store = redisStore({ client: clientOf(prefix), prefix });
    expect(await store.enqueue(requests(1, "r"), NOW)).toEqual(["stored"]);
  });

  test("that loses one meanwhile gets that error", async () => {
    const { prefix } = await server.place();
    await setUser(prefix, prefix);
    const store = redisStore({ client: clientOf(prefix), prefix });
    await store.enqueue(requests(1, "r"), NOW);
    await admin.call("ACL", "SETUSER", prefix, "-hget");
    const fault = { code: "STORE_FORBIDDEN", retryable: false };
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject(fault);
    const message = expect.stringContaining("HGET");
    await expect(store.enqueue(requests(1, "s"), NOW)).rejects.toMatchObject({ ...fault, message });
  });
});

test.each([
  ["a wrong password", "WRONGPASS", "another password"],
  ["no password", "NOAUTH", ""],
])("%s rejects calls and the start, which works once the user is corrected", async (_name, word, password) => {
  const { prefix } = await server.place();
  const name = password === "" ? "default" : prefix;
  await setUser(prefix, prefix);
  if (name === "default") await admin.call("ACL", "SETUSER", "default", "resetpass", `>${PASSWORD}`);
  onTestFinished(async () => void (await admin.call("ACL", "SETUSER", "default", "nopass")));
  const client = password === "" ? clientAt(server.port) : clientOf(name, password);
  onTestFinished(() => client.disconnect());
  const store = redisStore({ client, prefix });
  const refused = { code: "STORE_FORBIDDEN", retryable: false, message: expect.stringContaining(word) };
  await expect(store.enqueue(requests(1, "r"), NOW)).rejects.toMatchObject(refused);
  const fake = fakeProvider();
  const openai = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client: openai })], onError: () => {} });
  onTestFinished(() => dispatcher.stop());
  await expect(dispatcher.start()).rejects.toMatchObject(refused);
  await admin.call("ACL", "SETUSER", name, password === "" ? "nopass" : `>${password}`);
  await expect.poll(() => dispatcher.start().then(() => "started", String), { timeout: 10_000 }).toBe("started");
});

test("keys that another program wrote are STORE_DAMAGED", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  await client.set(`{${prefix}}:epoch`, "another program's");
  const damaged = { code: "STORE_DAMAGED", retryable: false, message: expect.stringContaining("WRONGTYPE") };
  await expect(redisStore({ client, prefix }).probe(1, NOW)).rejects.toMatchObject(damaged);
});

test("a user with the rights in the docs of limits is granted calls, and needs no others", async () => {
  const listed = /needs `~\{KEY\}:\* ([^`]+)`/.exec(textOf("docs/limits.md"))?.[1] ?? "";
  const { prefix: key } = await server.place();
  await admin.call("ACL", "SETUSER", key, "reset", "on", `>${PASSWORD}`, `~{${key}}:*`, ...listed.trim().split(/\s+/));
  await admin.call("SCRIPT", "FLUSH");
  const states: string[] = [];
  const onState = (state: string): void => void states.push(state);
  const limiter = redisRateLimiter({ client: clientOf(key), key, costPerMinute: 6_000, burstMs: 100, onState });
  const taker = new Taker(limiter, 5);
  taker.retry();
  await expect.poll(() => taker.granted).toBeGreaterThan(20);
  limiter.hold(50);
  const before = taker.granted;
  await expect.poll(() => taker.granted).toBeGreaterThan(before + 10);
  expect(states).toEqual([]);
  expect(Number(await admin.exists(`{${key}}:state`))).toBe(1);
});
