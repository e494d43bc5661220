// Two transports for one handler: a node:http server on a free loopback port, and an in-process
// `fetch`, so that a simulation under a virtual clock needs no socket. Both can break a connection.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { unlessAborted } from "../../core/contract/unless-aborted.ts";
import { DROPPED, type Exchange, type Handler, type Reply } from "./exchange.ts";

/** A status without a body, even an empty one. */
const NO_CONTENT = 204;

/** The `fetch` option of official clients. */
export type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A fake that listens on a port. */
export interface Listening {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  close(): Promise<void>;
}

export async function listen(handler: Handler): Promise<Listening> {
  const server = createServer((request, response) => {
    serve(handler, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function serve(handler: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const url = new URL(request.url ?? "/", `http://${request.headers.host ?? "127.0.0.1"}`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const reply = await handler(exchangeOf(request.method ?? "GET", url, headers, Buffer.concat(chunks)));
  if (reply === DROPPED) {
    request.socket.destroy();
    return;
  }
  response.writeHead(reply.status, { ...reply.headers, "content-length": reply.body.length });
  if (reply.cutAt === null) {
    response.end(reply.body);
    return;
  }
  response.write(reply.body.subarray(0, reply.cutAt), () => request.socket.destroy());
}

function exchangeOf(method: string, url: URL, headers: Headers, body: Uint8Array): Exchange {
  return { method, path: url.pathname, query: url.searchParams, headers, body };
}

/**
 * Fails like the platform's fetch: a TypeError for a lost connection, the signal's reason for an
 * abort.
 */
export function inProcessFetch(handler: Handler): Fetch {
  return async (target, init) => {
    const request = new Request(target, init);
    const { signal } = request;
    signal.throwIfAborted();
    const body = new Uint8Array(await request.arrayBuffer());
    const exchange = exchangeOf(request.method, new URL(request.url), request.headers, body);
    exchange.headers.set("host", new URL(request.url).host);
    const reply = await unlessAborted(handler(exchange), signal);
    if (reply === DROPPED) throw new TypeError("fetch failed", { cause: new Error("other side closed") });
    const { status, headers, cutAt } = reply;
    if (status === NO_CONTENT) return new Response(null, { status, headers });
    const bytes = reply.body as Uint8Array<ArrayBuffer>;
    return new Response(cutAt === null ? bytes : cutStream(reply, cutAt), { status, headers });
  };
}

function cutStream(reply: Reply, cutAt: number): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) controller.error(new TypeError("terminated", { cause: new Error("other side closed") }));
      else controller.enqueue(reply.body.subarray(0, cutAt));
      sent = true;
    },
  });
}
