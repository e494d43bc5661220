/**
 * One record a request, for the log: who asked for what, how it ended, how much work it was.
 *
 * Guarantees: a line has no line break and no space within a field; neither texts nor keys are in
 * it.
 */

import type { Context } from "hono";
import { refusedPath } from "../requests/request-address.ts";
import type { Ending } from "./endings.ts";

export interface AccessRecord {
  /** When the request came, in ISO 8601. */
  readonly time: string;
  /** The answer's `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Percent-encoded, as it was sent: decoded it may hold spaces and line breaks. */
  readonly path: string;
  /** 499 where the caller left before all of the answer was sent. */
  readonly status: number;
  /** 0 where the request was refused before they were counted. */
  readonly texts: number;
  readonly tokens: number;
  /** From the request's headers to the end of its answer. */
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
