/**
 * Refuses a Host header of which no address can be made, and a path that a gateway may read
 * otherwise.
 *
 * Guarantees: such a request comes to the app as any other, and so into the access log, the
 * metrics, and an answer that has its id; no route sees it.
 */

import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { malformedRequest } from "../errors.ts";
import { pathFault } from "./request-path.ts";

interface Refused {
  /** The path as it was sent, without the query. */
  readonly path: string;
  readonly fault: string;
}

const refused = new WeakMap<IncomingMessage, Refused>();

/**
 * To be called before the adapter makes a Request, which fails for some addresses. In their place
 * it gets one that it takes, and a name as URLs have it: [::1] for [0:0:0:0:0:0:0:1], 127.0.0.1 for
 * 127.1.
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

/** Empty for health checks that have none. */
function isHost(host: string): boolean {
  return host === "" || (!/[/?#@\\]/.test(host) && URL.canParse(`http://${host}`));
}

/** Without the name and the password that an address may have. */
function sentPath(target: string): string {
  const [path = ""] = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").split("?", 1);
  return path;
}

/** Undefined for a request that was not refused for its address. */
export function refusedPath(context: Context): string | undefined {
  return refusalOf(context)?.path;
}

export const refuseAddresses: MiddlewareHandler = async (context, next) => {
  const refusal = refusalOf(context);
  if (refusal !== undefined) throw malformedRequest(refusal.fault);
  await next();
};

function refusalOf(context: Context): Refused | undefined {
  // Absent where the app is asked without a socket.
  const { incoming }: Partial<HttpBindings> = context.env ?? {};
  return incoming === undefined ? undefined : refused.get(incoming);
}
