/**
 * Servers for the measures, from the keeper of the tests: found on this machine or installed as
 * Debian packages, with their own data, flushing to disk before they answer, and ended by their
 * process ids, however this process ends. BATCHWISE_BENCH_FOLDER is the folder for their data.
 */
import type { Keeper } from "../../packages/batchwise/test/integration/services/keeper-client.ts";
import {
  ownPostgres,
  ownRedis,
  startKeeper,
} from "../../packages/batchwise/test/integration/services/keeper-client.ts";
import type { PostgresPlace } from "../../packages/batchwise/test/integration/services/postgres.ts";
import type { RedisPlace } from "../../packages/batchwise/test/integration/services/redis.ts";

/** Runs `work` on a new server, in its own schema. */
export function onPostgres<Result>(work: (place: PostgresPlace) => Promise<Result>): Promise<Result> {
  return kept(async ({ port }) => work(await (await ownPostgres(port)).place()));
}

export function onRedis<Result>(work: (place: RedisPlace) => Promise<Result>): Promise<Result> {
  return kept(async ({ port }) => work(await (await ownRedis(port)).place()));
}

async function kept<Result>(work: (keeper: Keeper) => Promise<Result>): Promise<Result> {
  const keeper = await startKeeper(process.env.BATCHWISE_BENCH_FOLDER);
  try {
    return await work(keeper);
  } finally {
    await keeper.stop();
  }
}

/** The version of the available server; throws, with advice, if there is none. */
export function postgresVersion(): Promise<string> {
  return onPostgres(async (place) => {
    const { default: pg } = await import("pg");
    const client = new pg.Client(place);
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
    await client.end();
    return rows[0]?.server_version.split(" ", 1)[0] ?? "";
  });
}

export function redisVersion(): Promise<string> {
  return onRedis(async ({ port }) => {
    const { Redis } = await import("ioredis");
    const client = new Redis({ host: "127.0.0.1", port });
    const about = await client.info("server");
    await client.quit();
    return /redis_version:(?<version>\S+)/.exec(about)?.groups?.version ?? "";
  });
}
