// Rows that servers keep of tenants and lanes without requests. SQLite's part:
// test/dispatch/stores/sqlite/places.test.ts.

import { postgresStore } from "batchwise/dispatch/postgres";
import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import { comeAndGo } from "../../../dispatch/stores/places.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { poolAt } from "../../services/postgres.ts";
import { clientAt } from "../../services/redis.ts";

test("a Postgres server keeps no place of tenants that have long been claimed, and no level of halves", async () => {
  const pool = poolAt(await postgresPlace());
  onTestFinished(() => pool.end());
  await comeAndGo(postgresStore({ pool }));
  const { rows } = await pool.query(
    "SELECT (SELECT count(*)::int FROM batchwise_share) AS shares, (SELECT count(*)::int FROM batchwise_level) AS levels",
  );
  expect(rows[0].shares).toBeLessThan(3);
  expect(rows[0].levels).toBe(1);
});

test("a Redis server keeps no place of tenants that have long been claimed, and no level of halves", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  await comeAndGo(redisStore({ client, prefix }));
  const [places = "", ...others] = await client.keys(`{${prefix}}:f:*`);
  expect(others).toEqual([]);
  expect(await client.zcard(places)).toBeLessThan(3);
  expect(await client.hlen(`{${prefix}}:level`)).toBe(1);
});
