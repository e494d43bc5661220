/**
 * Refuses a Host header that does not form an address, and a path that a gateway may read
 * differently.
 *
 * Guarantees: the app logs, counts and answers such a request, with its id; no route handles it.
 */

import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { malformedRequest } from "../errors.ts";
import { pathFault } from "./request-path.ts";

interface Refused {
  /** The path as sent, without the query. */
  readonly path: string;
  readonly fault: string;
}

const refused = new WeakMap<IncomingMessage, Refused>();

/**
 * Call it before the adapter makes a Request, which fails for some addresses. Replaces such an
 * address by one that the adapter takes, and writes a name as URLs do: [::1] for [0:0:0:0:0:0:0:1],
 * 127.0.0.1 for 127.1.
 */
export function readAddress(incoming: IncomingMessage): void {
  const { headers, url = "" } = incoming;
  const { host = "" } = headers;
  const fault = pathFault(url) ?? (isHost(host) ? undefined : "Invalid host header");
  if (fault !== undefined) {
    refused.set(incoming, { path: sentPath(url), fault });
    incoming.url = "/";
    headers.host = "localhost";
  } else if (host !== "") headers.host = new URL(`http://${host}`).host;
}

/** Accepts "", for health checks without a host. */
function isHost(host: string): boolean {
  return host === "" || (!/[/?#@\\]/.test(host) && URL.canParse(`http://${host}`));
}

/** The path without the user and password that an address may have. */
function sentPath(target: string): string {
  const [path = ""] = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").split("?", 1);
  return path;
}

/** Returns the refused path; undefined if the address was accepted. */
export function refusedPath(context: Context): string | undefined {
  return refusalOf(context)?.path;
}

export const refuseAddresses: MiddlewareHandler = async (context, next) => {
  const refusal = refusalOf(context);
  if (refusal !== undefined) throw malformedRequest(refusal.fault);
  await next();
};

function refusalOf(context: Context): Refused | undefined {
  // Absent if the app is called without a socket.
  const { incoming }: Partial<HttpBindings> = context.env ?? {};
  return incoming === undefined ? undefined : refused.get(incoming);
}
