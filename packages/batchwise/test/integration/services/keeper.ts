// Keeps the servers of one test run, in its own process. keeper-client.ts starts it and sends it
// requests over HTTP on loopback. It starts a server at the first request for it. When its input
// ends, that is, when the run ends in any way, it ends every server by its process id and removes
// its folder.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type PostgresOptions, type PostgresService, startPostgres } from "./postgres.ts";
import { type PrometheusService, programsFolder, startPrometheus } from "./prometheus.ts";
import { type RedisOptions, type RedisService, startRedis } from "./redis.ts";

/** The requests. `id`: of a server that `startOwn...` has returned. */
export type Ask =
  | { readonly call: "postgresPlace" | "redisPlace" }
  | { readonly call: "startOwnPostgres"; readonly options: PostgresOptions }
  | { readonly call: "startOwnRedis"; readonly options: RedisOptions }
  | { readonly call: "prometheusFolder" }
  | { readonly call: "startPrometheus"; readonly scraped: number }
  | { readonly call: "place" | "killAndRestart" | "stop"; readonly id: number };

export interface OwnServer {
  readonly id: number;
  readonly port: number;
  readonly folder: string;
}

type Store = PostgresService | RedisService;
type Service = Store | PrometheusService;

/** Every started or starting server. */
const all = new Map<number, Promise<Service>>();
let shared: { postgres?: Promise<Store>; redis?: Promise<Store> } = {};

function keep(service: Promise<Service>): number {
  const id = all.size;
  all.set(id, service);
  return id;
}

function sharedServer(kind: "postgres" | "redis", start: () => Promise<Store>): Promise<Store> {
  const known = shared[kind];
  if (known !== undefined) return known;
  const service = start();
  shared = { ...shared, [kind]: service };
  keep(service);
  return service;
}

async function own(starting: Promise<Service>): Promise<OwnServer> {
  const id = keep(starting);
  const { port, folder } = await starting;
  return { id, port, folder };
}

async function toOwn(ask: Extract<Ask, { id: number }>): Promise<unknown> {
  const service = await all.get(ask.id);
  if (service === undefined) throw new Error(`There is no server ${ask.id}.`);
  if (ask.call === "place" && "place" in service) return service.place();
  if (ask.call === "stop") await service.stop();
  else if ("killAndRestart" in service) await service.killAndRestart();
  return null;
}

async function answer(ask: Ask): Promise<unknown> {
  switch (ask.call) {
    case "postgresPlace":
      return (await sharedServer("postgres", () => startPostgres({ fsync: false }))).place();
    case "redisPlace":
      return (await sharedServer("redis", () => startRedis({ appendfsync: "everysec" }))).place();
    case "startOwnPostgres":
      return own(startPostgres(ask.options));
    case "startOwnRedis":
      return own(startRedis(ask.options));
    case "prometheusFolder":
      return programsFolder();
    case "startPrometheus":
      return own(startPrometheus(ask.scraped));
    default:
      return toOwn(ask);
  }
}

const server = createServer(async (request, response) => {
  // Each request uses a new connection: a kept one might be closed just as the next request is
  // sent.
  response.setHeader("connection", "close");
  try {
    const ask = JSON.parse(await text(request)) as Ask;
    response.end(JSON.stringify(await answer(ask)));
  } catch (error) {
    response.writeHead(500).end(String(error instanceof Error ? (error.stack ?? error.message) : error));
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
process.stdin.resume();
await once(process.stdin, "end");
server.close();
server.closeAllConnections();
await Promise.allSettled([...all.values()].map(async (service) => (await service).stop()));
