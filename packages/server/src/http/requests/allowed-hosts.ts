/**
 * Keeps web pages of other origins away from the service, those too that have their own name
 * resolve to its address (DNS rebinding).
 *
 * Guarantees: a request is taken only under a name that is known to be the service's: a loopback
 * name, the address it listens on, or one that was allowed. Any IP address will do, since no page
 * can have one as another's name. A request that a browser sends for a page is taken only from the
 * service's own pages, or those of allowed names. Does not check who calls: programs can send any
 * header.
 */

import { BlockList, isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { hostMissing, hostNotAllowed, originNotAllowed } from "../errors.ts";

/** Names under which the service may be asked; "*" for any. */
export function onlyAllowedHosts(bound: string, allowed: readonly string[]): MiddlewareHandler {
  const named = new Set(allowed.map((name) => name.toLowerCase()));
  const names = new Set([bound.toLowerCase(), ...named]);
  return async (context, next) => {
    const host = context.req.header("host");
    if (host === undefined || host === "") throw hostMissing();
    const name = nameIn(host);
    if (!names.has("*") && !isLoopbackName(name) && isIP(name) === 0 && !names.has(name)) throw hostNotAllowed(name);
    const origin = context.req.header("origin");
    if (origin !== undefined && !isOwn(origin, host, named)) throw originNotAllowed(origin);
    await next();
  };
}

/**
 * Every way to write an IPv6 address is one address, and one that stands for an IPv4 address is
 * that.
 */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** True where only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? isLoopbackName(host) : LOOPBACK.check(host, version === 4 ? "ipv4" : "ipv6");
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/** An allowed name is of use behind a proxy that asks under another name than the page's. */
function isOwn(origin: string, host: string, named: ReadonlySet<string>): boolean {
  // A page without an origin of its own says "null", which is no URL.
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return page.host === host.toLowerCase() || named.has(nameIn(page.host));
}

/**
 * A Host header without its port, the brackets of IPv6 and the dot of an absolute name. An IPv4
 * address is written in full, as a URL has it: 127.1 is 127.0.0.1.
 */
function nameIn(host: string): string {
  const written = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host.toLowerCase();
  return written.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
