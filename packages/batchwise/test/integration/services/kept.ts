// Servers for tests of the integration project. A place is an empty corner of a server that all files of the run share;
// a file that kills, fills or changes its server has one of its own. Whatever is not stopped here is at the end of the
// run.

import { inject } from "vitest";
import type { Ask, OwnServer } from "./keeper.ts";
import type { PostgresOptions, PostgresPlace, PostgresService } from "./postgres.ts";
import type { RedisOptions, RedisPlace, RedisService } from "./redis.ts";

export function postgresPlace(): Promise<PostgresPlace> {
  return ask({ call: "postgresPlace" });
}

export function redisPlace(): Promise<RedisPlace> {
  return ask({ call: "redisPlace" });
}

export async function startOwnPostgres(options: PostgresOptions = {}): Promise<PostgresService> {
  const { id, port, folder } = await ask<OwnServer>({ call: "startOwnPostgres", options });
  return { port, folder, place: () => ask({ call: "place", id }), stop: () => ask({ call: "stop", id }) };
}

export async function startOwnRedis(options: RedisOptions = {}): Promise<RedisService> {
  const { id, port, folder } = await ask<OwnServer>({ call: "startOwnRedis", options });
  return {
    ...{ port, folder, place: () => ask({ call: "place", id }), stop: () => ask({ call: "stop", id }) },
    killAndRestart: () => ask({ call: "killAndRestart", id }),
  };
}

async function ask<Answer>(what: Ask): Promise<Answer> {
  const url = `http://127.0.0.1:${inject("keeperPort")}/`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(what) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}
