/**
 * The service on a socket: opens the model, listens, and drains.
 *
 * Guarantees: it listens only after the model is loaded. `close` first fails health checks for
 * `drainDelayMs` while everything else is answered; then it stops accepting, answers accepted
 * requests and ends the model's threads. It closes connections on which no byte came within 100 ms
 * after it stopped accepting, and all connections after `drainTimeoutMs`.
 */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { Embedder, type EmbedderOptions } from "../models/embedder.ts";
import { type AppOptions, createApp } from "./app.ts";
import { RequestParser } from "./embeddings/request-parser.ts";
import { guarded } from "./monitoring/listeners.ts";
import { limitConnections, reportFailedAccepts } from "./requests/connection-limit.ts";
import { Connections } from "./requests/connections.ts";
import { readAddress } from "./requests/request-address.ts";
import { answerUnreadable, explainRefusals } from "./requests/unreadable-requests.ts";

export interface ServiceOptions
  extends EmbedderOptions,
    Omit<AppOptions, "embedder" | "parser" | "draining" | "leaving" | "droppedConnections"> {
  /** 0: any free port. */
  readonly port: number;
  /** If the port is in use, listen on a free one instead of failing. */
  readonly anyPortWillDo?: boolean;
  /** Time in ms for which health checks answer 503 before the socket stops accepting. Default 0. */
  readonly drainDelayMs?: number;
  readonly drainTimeoutMs?: number;
  /** Time in ms for which an idle connection stays open. Default 65,000. */
  readonly keepAliveMs?: number;
  /** Most open connections. Default: as many as the process's limit on open files allows. */
  readonly maxConnections?: number;
  /** Called with a sentence that names the change an operator should make. */
  readonly onWarning?: (message: string) => void;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly embedder: Embedder;
  /** Drains. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_DRAIN_TIMEOUT_MS = 30_000;
/**
 * Longer than the 60 s of common load balancers, so that the balancer closes first and never sends
 * a request into a socket that this side has closed.
 */
const DEFAULT_KEEP_ALIVE_MS = 65_000;
/**
 * Time in ms after a stop in which the first bytes of a connection may arrive: a newly accepted
 * connection has not been read yet.
 */
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
    droppedConnections: () => connectionLimit.dropped,
  });
  const answer = getRequestListener((request, environment) => app.fetch(request, environment), {
    // Health checks of load balancers may omit the Host header.
    hostname: "localhost",
    errorHandler: answerUnreadable,
  });
  const server = createServer(
    { requireHostHeader: false, keepAliveTimeout: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS },
    (incoming, outgoing) => {
      readAddress(incoming);
      return answer(incoming, outgoing);
    },
  );
  const connections = new Connections(server);
  explainRefusals(server, connections);
  const warn = guarded("onWarning", options.onWarning);
  const connectionLimit = limitConnections(server, options.maxConnections, warn);
  try {
    await listen(server, host, options.port, options.anyPortWillDo ?? false);
  } catch (error) {
    await embedder.close();
    throw error;
  }
  reportFailedAccepts(server, warn);
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const { drainDelayMs = 0, drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS } = options;
    if (drainDelayMs > 0) await sleep(drainDelayMs);
    draining = true;
    try {
      await drain(server, connections, embedder, drainTimeoutMs);
    } finally {
      await parser.close();
    }
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

async function drain(server: Server, connections: Connections, embedder: Embedder, timeoutMs: number): Promise<void> {
  const closed = once(server, "close");
  // Also closes idle connections.
  server.close();
  connections.endWithAnswers();
  const silence = setTimeout(afterNextRead, SILENCE_MS, () => connections.endSilent());
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

/** In a pass of the event loop, timers run before reads, and immediates after them. */
function afterNextRead(callback: () => void): void {
  setImmediate(callback);
}
