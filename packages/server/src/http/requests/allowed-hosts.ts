/**
 * Refuses requests from web pages of other origins, including pages that let their own name resolve
 * to the service's address (DNS rebinding).
 *
 * Guarantees: a request is accepted only under a name of the service: a loopback name, the address
 * on which it listens, or an allowed name. Any IP address is accepted, because a page cannot have
 * another host's IP address as its name. A request that a browser sends for a page is accepted only
 * from pages of the service or of allowed names. Does not authenticate callers: programs can send
 * any header.
 */

import { BlockList, isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { hostMissing, hostNotAllowed, originNotAllowed } from "../errors.ts";

/** The names under which the service accepts requests; "*" for any. */
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
 * Treats every spelling of an IPv6 address alike, and one that stands for an IPv4 address as that.
 */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** True if only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? isLoopbackName(host) : LOOPBACK.check(host, version === 4 ? "ipv4" : "ipv6");
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/** An allowed name is needed behind a proxy whose requests have another name than the page. */
function isOwn(origin: string, host: string, named: ReadonlySet<string>): boolean {
  // A page without an origin sends "null", which is not a URL.
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return page.host === host.toLowerCase() || named.has(nameIn(page.host));
}

/**
 * A Host header without its port, the brackets of IPv6 and the dot of an absolute name. An IPv4
 * address is written in full, as in a URL: 127.1 is 127.0.0.1.
 */
function nameIn(host: string): string {
  const written = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host.toLowerCase();
  return written.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
