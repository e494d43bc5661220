/**
 * The service on a socket: opens the model, listens, and drains.
 *
 * Guarantees: listens only once the model is loaded; `close` first fails health checks for `drainDelayMs` while all
 * else is answered, then stops accepting, answers what was accepted and ends the model's threads. It gives up on
 * connections of which no byte came 100 ms after it stopped accepting, and after `drainTimeoutMs` on all.
 */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { Embedder, type EmbedderOptions } from "../models/embedder.ts";
import { type AppOptions, createApp } from "./app.ts";
import { RequestParser } from "./embeddings/request-parser.ts";
import { answerUnreadable, explainRefusals } from "./requests/unreadable-requests.ts";

export interface ServiceOptions
  extends EmbedderOptions,
    Omit<AppOptions, "embedder" | "parser" | "draining" | "leaving"> {
  /** 0 takes any free port. */
  readonly port: number;
  /** When the port is taken, listen on a free one instead of failing. */
  readonly anyPortWillDo?: boolean;
  /** How long health checks answer 503 before the socket stops accepting. Default 0. */
  readonly drainDelayMs?: number;
  readonly drainTimeoutMs?: number;
  /** How long a connection on which nothing is asked stays open. Default 65,000. */
  readonly keepAliveMs?: number;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly embedder: Embedder;
  /** Drains. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_DRAIN_TIMEOUT_MS = 30_000;
/** Longer than the 60 s of common load balancers: whoever closes first must not be the one that is asked. */
const DEFAULT_KEEP_ALIVE_MS = 65_000;
/** How long after a stop the first bytes of a connection may come: those of one just accepted have not been read. */
const SILENCE_MS = 100;

export async function startService(options: ServiceOptions): Promise<Service> {
  const { host = "127.0.0.1" } = options;
  const embedder = await Embedder.open(options);
  const parser = new RequestParser(embedder.model);
  let closing: Promise<void> | undefined;
  let draining = false;
  const app = createApp({
    ...options,
    host,
    embedder,
    parser,
    leaving: () => closing !== undefined,
    draining: () => draining,
  });
  const server = createServer(
    { requireHostHeader: false, keepAliveTimeout: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS },
    // Health checks of load balancers may leave out the Host header.
    getRequestListener(app.fetch, { hostname: "localhost", errorHandler: answerUnreadable }),
  );
  explainRefusals(server);
  const connections = connectionsOf(server);
  try {
    await listen(server, host, options.port, options.anyPortWillDo ?? false);
  } catch (error) {
    await embedder.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const { drainDelayMs = 0, drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS } = options;
    if (drainDelayMs > 0) await sleep(drainDelayMs);
    draining = true;
    await drain(server, connections, embedder, drainTimeoutMs);
    await parser.close();
  };
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    embedder,
    close() {
      closing ??= stop();
      return closing;
    },
  };
}

async function listen(server: Server, host: string, port: number, anyPortWillDo: boolean): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!taken || !anyPortWillDo) throw error;
    await listen(server, host, 0, false);
  }
}

/** The open connections of a server, from now on. */
function connectionsOf(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on("connection", (connection) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return connections;
}

async function drain(
  server: Server,
  connections: ReadonlySet<Socket>,
  embedder: Embedder,
  timeoutMs: number,
): Promise<void> {
  const closed = once(server, "close");
  // Also closes the connections on which nothing is asked any more.
  server.close();
  const silence = setTimeout(afterNextRead, SILENCE_MS, () => destroySilent(connections));
  embedder.hurry();
  const limit = setTimeout(() => server.closeAllConnections(), timeoutMs);
  try {
    await closed;
  } finally {
    clearTimeout(limit);
    clearTimeout(silence);
  }
  await embedder.close();
}

/** Timers come before reads in a pass of the event loop, and immediates after them. */
function afterNextRead(callback: () => void): void {
  setImmediate(callback);
}

/** Node does not count a connection as idle before its first request. Browsers open such ones ahead of time. */
function destroySilent(connections: ReadonlySet<Socket>): void {
  for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
}
