/**
 * One record per request for the log: path, status, duration, amount of work.
 *
 * Guarantees: a line has no line break and no space within a field, and contains neither texts nor
 * keys.
 */

import type { Context } from "hono";
import { refusedPath } from "../requests/request-address.ts";
import type { Ending } from "./endings.ts";

export interface AccessRecord {
  /** Arrival of the request, in ISO 8601. */
  readonly time: string;
  /** The answer's `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Percent-encoded, as it was sent: decoded, it may contain spaces and line breaks. */
  readonly path: string;
  /** 499 if the caller left before the whole answer was sent. */
  readonly status: number;
  /** 0 if the request was refused before they were counted. */
  readonly texts: number;
  readonly tokens: number;
  /** Milliseconds from the request's headers to the end of its answer. */
  readonly ms: number;
}

/** The amount of work of a request. */
export interface Work {
  readonly texts: number;
  readonly tokens: number;
}

declare module "hono" {
  interface ContextVariableMap {
    work: Work | undefined;
  }
}

export function accessRecord(context: Context, { startedAt, status, ms }: Ending): AccessRecord {
  const { texts = 0, tokens = 0 } = context.get("work") ?? {};
  return {
    time: new Date(startedAt).toISOString(),
    id: context.get("requestId"),
    method: context.req.method,
    path: refusedPath(context) ?? new URL(context.req.raw.url).pathname,
    ...{ status, texts, tokens, ms: Math.round(ms * 10) / 10 },
  };
}

export function formatAccess(record: AccessRecord, format: "json" | "text"): string {
  if (format === "json") return JSON.stringify(record);
  const { time, id, method, path, status, texts, tokens, ms } = record;
  return `${time} ${id} ${method} ${path} ${status} ${texts} texts ${tokens} tokens ${ms} ms`;
}
