/**
 * One record a request, for the log: who asked for what, how it ended, how much work it was.
 *
 * Guarantees: a line has no line break and no space within a field; neither texts nor keys are in it.
 */

import type { MiddlewareHandler } from "hono";

export interface AccessRecord {
  /** When the request came, in ISO 8601. */
  readonly time: string;
  /** The answer's `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Percent-encoded, as it was sent: decoded it may hold spaces and line breaks. */
  readonly path: string;
  /** 499 where the caller left. */
  readonly status: number;
  /** 0 where the request was refused before they were counted. */
  readonly texts: number;
  readonly tokens: number;
  /** From the request's headers to its answer. */
  readonly ms: number;
}

/** What a request asks of the model. */
export interface Work {
  readonly texts: number;
  readonly tokens: number;
}

declare module "hono" {
  interface ContextVariableMap {
    work: Work | undefined;
  }
}

export function accessLog(write: (record: AccessRecord) => void): MiddlewareHandler {
  return async (context, next) => {
    const time = new Date().toISOString();
    const startedAt = performance.now();
    await next();
    const { texts = 0, tokens = 0 } = context.get("work") ?? {};
    const path = new URL(context.req.raw.url).pathname;
    write({
      ...{ time, id: context.get("requestId"), method: context.req.method, path },
      ...{ status: context.res.status, texts, tokens, ms: Math.round((performance.now() - startedAt) * 10) / 10 },
    });
  };
}

export function formatAccess(record: AccessRecord, format: "json" | "text"): string {
  if (format === "json") return JSON.stringify(record);
  const { time, id, method, path, status, texts, tokens, ms } = record;
  return `${time} ${id} ${method} ${path} ${status} ${texts} texts ${tokens} tokens ${ms} ms`;
}
