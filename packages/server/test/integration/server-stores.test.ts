// The command over real servers: Postgres through `pg` and Redis through `ioredis`, both loaded by
// the command itself.

import { expect, onTestFinished, test } from "vitest";
import { postgresPlace, startOwnRedis } from "../../../batchwise/test/integration/services/kept.ts";
import { query } from "../../../batchwise/test/integration/services/postgres.ts";
import { clientAt } from "../../../batchwise/test/integration/services/redis.ts";
import { ended, Practice } from "../support/practice.ts";

async function postgresUrl(): Promise<string> {
  const { host, port, user, database } = (await postgresPlace()) as PostgresAddress;
  return `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
}

/** In a schema that no search path names. */
async function schemaUrl(): Promise<string> {
  await query(await postgresPlace(), 'CREATE SCHEMA IF NOT EXISTS "The ""command"""');
  return `${await postgresUrl()}?schema=${encodeURIComponent('The "command"')}`;
}

interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

async function redisUrl(): Promise<string> {
  const { port } = await startOwnRedis();
  return `redis://127.0.0.1:${port}`;
}

test.each([
  ["Postgres", postgresUrl],
  ["a schema of Postgres", schemaUrl],
  ["Redis", redisUrl],
])("on %s a job runs to its end, and doctor finds the store well", async (_name, urlOf) => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 20);
  const url = await urlOf();
  const doctor = await practice.done("jobs", "doctor", "--store", url);
  expect(doctor).toMatchObject({ code: 0, output: expect.stringContaining("its schema is this version's") });
  expect(doctor.output).toContain("clock: agrees with the store's");
  const run = await ended(practice.run("in.jsonl", "--store", url));
  expect(run).toMatchObject({ code: 0, output: expect.stringContaining("20 outcomes (20 succeeded)") });
  const list = await practice.done("jobs", "list", "--store", url, "--json");
  expect(JSON.parse(list.stdout)).toMatchObject({ jobs: [{ job: "in", succeeded: 20, open: 0 }] });
});

test("doctor names a schema of Postgres that is not there", async () => {
  const practice = await Practice.start();
  const url = `${await postgresUrl()}?schema=nobody%27s`;
  const doctor = await practice.done("jobs", "doctor", "--store", url);
  expect(doctor).toMatchObject({
    code: 3,
    output: expect.stringMatching(/PROBLEM store: .*schema "nobody's" does not/),
  });
});

test("doctor has a notice of a Redis that evicts only keys that expire, and run starts on it", async () => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 1);
  const { port } = await startOwnRedis();
  const admin = clientAt(port);
  onTestFinished(() => admin.disconnect());
  await admin.config("SET", "maxmemory-policy", "volatile-lru");
  const url = `redis://127.0.0.1:${port}`;
  const doctor = await practice.done("jobs", "doctor", "--store", url);
  expect(doctor).toMatchObject({ code: 0, output: expect.stringMatching(/notice {2}store: .*volatile-lru/) });
  expect(await ended(practice.run("in.jsonl", "--store", url))).toMatchObject({ code: 0 });
});

test("doctor has a problem with a Redis that evicts keys, and run does not start on it", async () => {
  const practice = await Practice.start();
  practice.writeLines("in.jsonl", 1);
  const { port } = await startOwnRedis();
  const admin = clientAt(port);
  onTestFinished(() => admin.disconnect());
  await admin.config("SET", "maxmemory", 120_000_000);
  await admin.config("SET", "maxmemory-policy", "allkeys-lru");
  const url = `redis://127.0.0.1:${port}`;
  const doctor = await practice.done("jobs", "doctor", "--store", url);
  expect(doctor).toMatchObject({ code: 3, output: expect.stringMatching(/PROBLEM store: .*allkeys-lru/) });
  const run = await ended(practice.run("in.jsonl", "--store", url));
  expect(run.code).not.toBe(0);
  expect(run.output).toContain("allkeys-lru");
});
