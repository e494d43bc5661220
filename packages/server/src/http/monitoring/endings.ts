/**
 * Reports the end of each request to the log and the metrics.
 *
 * Guarantees: one report per request, when its whole answer was sent or no more of it can be. A
 * request whose answer was not sent completely has status 499 instead of the answer's.
 */

import type { Context, MiddlewareHandler } from "hono";
import { exchangeOf } from "../requests/exchange.ts";

/** nginx's code for a caller that has closed the connection. */
export const CALLER_LEFT = 499;

export interface Ending {
  /** Milliseconds since 1970 at which the request's headers were read. */
  readonly startedAt: number;
  readonly status: number;
  /** Milliseconds from the request's headers to the end of its answer. */
  readonly ms: number;
}

/** The outermost middleware. */
export function reportEndings(report: (context: Context, ending: Ending) => void): MiddlewareHandler {
  return async (context, next) => {
    const startedAt = Date.now();
    const from = performance.now();
    await next();
    exchangeOf(context).whenOver((isSent) => {
      const status = isSent ? context.res.status : CALLER_LEFT;
      report(context, { startedAt, status, ms: performance.now() - from });
    });
  };
}
