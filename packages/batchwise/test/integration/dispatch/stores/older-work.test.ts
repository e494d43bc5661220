// Opening what the version before columns for health, and that before limits of price, has left in
// a real server, with work in every state.

import { readFileSync } from "node:fs";
import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { olderKey, testOlderWork, testPriceInOlderWork } from "../../../dispatch/support/older-work.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { poolAt, query } from "../../services/postgres.ts";
import { clientAt } from "../../services/redis.ts";

const read = (name: string): string => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");
const held = /an older batchwise works on 1 of its batches/;
const waits = { code: "STORE_UNAVAILABLE", retryable: true, message: expect.stringMatching(held) };

describe("in Postgres", () => {
  async function loaded(fixture = "postgres-12.sql") {
    const place = await postgresPlace();
    await query(place, read(fixture));
    const pool = poolAt(place);
    onTestFinished(() => pool.end());
    return pool;
  }

  testOlderWork(async () => postgresStore({ pool: await loaded() }));
  testPriceInOlderWork(async () => postgresStore({ pool: await loaded("postgres-14.sql") }));

  test("waits while a process of the older version holds a batch, says so, and then continues", async () => {
    const pool = await loaded();
    const lease = "UPDATE batchwise_batch SET lease_until = $1 WHERE key = $2";
    await pool.query(lease, [Date.now() + 90_000, olderKey("running")]);
    const store = postgresStore({ pool });
    await expect(store.probe(1, 0)).rejects.toMatchObject(waits);
    await pool.query(lease, [0, olderKey("running")]);
    expect((await store.probe(1, 0)).inBatches).toBe(33);
    const older = pool.query("UPDATE batchwise_batch SET provider_file_id = 'in the create'");
    await expect(older).rejects.toThrow(/does not exist/);
    await store.close();
  });

  test("of a later version is refused in words", async () => {
    const pool = await loaded();
    await pool.query("UPDATE batchwise_schema SET version = 99");
    const refused = { code: "STORE_SCHEMA", message: expect.stringContaining("schema 99, newer than this batchwise") };
    await expect(postgresStore({ pool }).probe(1, 0)).rejects.toMatchObject(refused);
  });
});

describe("in Redis", () => {
  async function loaded(layout = 4) {
    const { port, prefix } = await redisPlace();
    const client = clientAt(port);
    onTestFinished(() => client.disconnect());
    const key = (name: string): string => `{${prefix}}:${name}`;
    for (const [command, name, ...rest] of JSON.parse(read(`redis-${layout}.json`)) as [
      string,
      string,
      ...string[],
    ][]) {
      // Ledgers belong to the server's run that wrote them; this run is another.
      if (name === "epoch") await client.hset(key(name), "layout", layout);
      else await client.call(command, key(name), ...rest);
    }
    return { client, prefix, key };
  }

  testOlderWork(async () => {
    const { client, prefix } = await loaded();
    return redisStore({ client, prefix });
  });
  testPriceInOlderWork(async () => {
    const { client, prefix } = await loaded(5);
    return redisStore({ client, prefix });
  });

  test("waits while a process of the older version holds a batch, says so, and then continues", async () => {
    const { key, ...place } = await loaded();
    const batch = key(`b:${olderKey("running")}`);
    await place.client.hset(batch, "leaseUntil", Date.now() + 90_000);
    const store = redisStore(place);
    await expect(store.enqueue([], 0)).rejects.toMatchObject(waits);
    await place.client.hset(batch, "leaseUntil", 0);
    await store.enqueue([], 0);
    expect(await place.client.hget(key("epoch"), "layout")).toBe("6");
    await store.close();
  });
});
