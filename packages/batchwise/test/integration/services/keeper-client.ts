// Starts the keeper of the servers, and sends it requests. For programs whose servers must end with
// them: the tests and the benchmarks.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import type { Ask, OwnServer } from "./keeper.ts";
import type { PostgresOptions, PostgresService } from "./postgres.ts";
import type { PrometheusService } from "./prometheus.ts";
import type { RedisOptions, RedisService } from "./redis.ts";

export interface Keeper {
  readonly port: number;
  /** Ends all its servers, and then itself. It also does so when this process ends in any way. */
  stop(): Promise<void>;
}

/**
 * The keeper has its own process group, so that Ctrl-C does not end it before it has ended the
 * servers.
 */
export async function startKeeper(folder: string = tmpdir()): Promise<Keeper> {
  const script = new URL("keeper.ts", import.meta.url).pathname;
  const keeper = spawn(process.execPath, ["--no-warnings", script], {
    detached: true,
    env: { ...process.env, TMPDIR: folder },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(keeper, "exit");
  const said = await Promise.race([once(keeper.stdout, "data"), ended.then(() => null)]);
  if (said === null) throw new Error("The keeper of the servers did not start.");
  return {
    port: Number(said),
    stop: async () => {
      keeper.stdin.end();
      await ended;
    },
  };
}

/** Sends a request to the keeper at this port. */
export async function askKeeper<Answer>(port: number, what: Ask): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: JSON.stringify(what) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}

/** A server for one test file only. */
export async function ownPostgres(keeperPort: number, options: PostgresOptions = {}): Promise<PostgresService> {
  const { id, port, folder } = await askKeeper<OwnServer>(keeperPort, { call: "startOwnPostgres", options });
  return {
    ...{ port, folder, place: () => askKeeper(keeperPort, { call: "place", id }) },
    stop: () => askKeeper(keeperPort, { call: "stop", id }),
  };
}

/** The same for Redis. */
export async function ownRedis(keeperPort: number, options: RedisOptions = {}): Promise<RedisService> {
  const { id, port, folder } = await askKeeper<OwnServer>(keeperPort, { call: "startOwnRedis", options });
  return {
    ...{ port, folder, place: () => askKeeper(keeperPort, { call: "place", id }) },
    stop: () => askKeeper(keeperPort, { call: "stop", id }),
    killAndRestart: () => askKeeper(keeperPort, { call: "killAndRestart", id }),
  };
}

/** A Prometheus that scrapes this port. */
export async function ownPrometheus(keeperPort: number, scraped: number): Promise<PrometheusService> {
  const { id, port, folder } = await askKeeper<OwnServer>(keeperPort, { call: "startPrometheus", scraped });
  return { port, folder, stop: () => askKeeper(keeperPort, { call: "stop", id }) };
}
