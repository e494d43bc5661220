// Keeps the servers of one test run, and the bundle of the command, in its own process.
// keeper-client.ts starts it and sends it requests over HTTP on loopback. It starts a server, and
// makes the bundle, at the first request for it. When its input ends, that is, when the run ends in
// any way, it ends every server by its process id and removes its folder.

import { once } from "node:events";
import { rmSync } from "node:fs";
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
  | { readonly call: "prometheusFolder" | "commandBundle" }
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

const SERVER = new URL("../../../../server/", import.meta.url);
/**
 * As deep in the package as the sources, because the command finds its package.json and its
 * packages from there.
 */
const BUNDLE = new URL(`dist-${process.pid}/`, SERVER);
let bundle: Promise<string> | undefined;

async function commandBundle(): Promise<string> {
  const { bundledProgram } = await import("../../../../../scripts/bundled-program.ts");
  const sources = new URL("../../../src/", import.meta.url);
  const threads = {
    "handler-worker": new URL("threads/handler-worker.ts", sources),
    "token-handler": new URL("onnx/text/token-handler.ts", sources),
    "text/vector-handler": new URL("onnx/text/vector-handler.ts", sources),
    "request-parser-worker": new URL("src/http/embeddings/request-parser-worker.ts", SERVER),
  };
  return bundledProgram(new URL("src/cli/main.ts", SERVER), `${BUNDLE.pathname}cli`, "external", threads);
}

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
    case "commandBundle":
      bundle ??= commandBundle();
      return bundle;
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
rmSync(BUNDLE, { recursive: true, force: true });
