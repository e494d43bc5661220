/**
 * Reports how each request ended, to the log and the metrics.
 *
 * Guarantees: one report a request, once all of its answer was sent or nothing more of it can be. A
 * request of which the answer was not sent whole has status 499, whatever status the answer had.
 */

import type { Context, MiddlewareHandler } from "hono";
import { exchangeOf } from "../requests/exchange.ts";

/** nginx's code for a caller that closed the connection. */
export const CALLER_LEFT = 499;

export interface Ending {
  /** Milliseconds since 1970 at which the request's headers were read. */
  readonly startedAt: number;
  readonly status: number;
  /** From the request's headers to the end of its answer. */
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
