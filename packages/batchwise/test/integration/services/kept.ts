// Servers and the bundled command for the integration tests. A place is an empty part of a server
// that all files of the run share; a file that kills, fills or changes its server has its own.
// Servers that are not stopped here end with the run.

import { inject } from "vitest";
import { askKeeper, ownPostgres, ownPrometheus, ownRedis } from "./keeper-client.ts";
import type { PostgresOptions, PostgresPlace, PostgresService } from "./postgres.ts";
import { type PrometheusService, runPromtool, type ToolAnswer } from "./prometheus.ts";
import type { RedisOptions, RedisPlace, RedisService } from "./redis.ts";

export function postgresPlace(): Promise<PostgresPlace> {
  return askKeeper(inject("keeperPort"), { call: "postgresPlace" });
}

export function redisPlace(): Promise<RedisPlace> {
  return askKeeper(inject("keeperPort"), { call: "redisPlace" });
}

export function startOwnPostgres(options?: PostgresOptions): Promise<PostgresService> {
  return ownPostgres(inject("keeperPort"), options);
}

export function startOwnRedis(options?: RedisOptions): Promise<RedisService> {
  return ownRedis(inject("keeperPort"), options);
}

/** A Prometheus that scrapes `/metrics` on a port of this machine. */
export function startOwnPrometheus(scraped: number): Promise<PrometheusService> {
  return ownPrometheus(inject("keeperPort"), scraped);
}

/** Runs `promtool` with these arguments. */
export async function promtool(...args: readonly string[]): Promise<ToolAnswer> {
  return runPromtool(await askKeeper<string>(inject("keeperPort"), { call: "prometheusFolder" }), args);
}

/** The `batchwise` command's file in a bundle of the sources, which all files of the run share. */
export function commandBundle(): Promise<string> {
  return askKeeper(inject("keeperPort"), { call: "commandBundle" });
}
