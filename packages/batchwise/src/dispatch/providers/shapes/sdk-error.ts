// What an error of an official client says, read by shape, so that it works across SDKs and their
// versions. Pure.

import type { JsonObject } from "../../contract/types.ts";
import { statusOf, wordsOf } from "../../format/client-error.ts";

const LONGEST_WAIT_MS = 3_600_000;

/** What could be read of an error; null where there is nothing. */
export interface SdkError {
  /** The HTTP status; null for a call that got no answer. */
  readonly status: number | null;
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** No byte of the call left this machine. */
  readonly neverSent: boolean;
  /** The platform refused a header: a key with a line break, for example. No call was made. */
  readonly isBadHeader: boolean;
}

/** Codes of the platform for connections that were never made. */
const NEVER_SENT: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
/** These come for connections that are up, too: then the call may have been sent. */
const UNREACHABLE: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH"]);

export function readSdkError(error: unknown): SdkError {
  const own = objectOf(error);
  // The body is `{ error: { ... } }`; some clients unwrap it, some do not.
  const body = objectOf(own.error);
  const inner = body.error === undefined ? body : objectOf(body.error);
  const status = statusOf(own);
  return {
    status,
    code: text(inner.code) ?? text(own.code) ?? awsCode(own),
    type: text(inner.type) ?? text(own.type),
    param: text(inner.param) ?? text(own.param),
    message: text(inner.message) ?? (status === null ? unanswered(own) : null) ?? text(own.message) ?? String(error),
    retryAfterMs: retryAfter(own.headers),
    neverSent: status === null && causesOf(error).some(wasNeverSent),
    isBadHeader: status === null && causesOf(error).some(isBadHeader),
  };
}

/** "Connection error." says nothing: its causes do. */
function unanswered(own: { readonly [key: string]: unknown }): string | null {
  return typeof own.cause === "object" && own.cause !== null ? wordsOf(own) : null;
}

/** The clients of Amazon name an error by its class, which is the code of the answer. */
function awsCode({ $metadata, name }: { readonly [key: string]: unknown }): string | null {
  return $metadata === undefined ? null : text(name);
}

export function objectOf(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}

/** The value as a JSON object, or null where it is none. */
export function jsonObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/**
 * An hour at most: some put a time of day there, and nobody would look at the batch again for
 * years.
 */
function retryAfter(headers: unknown): number | null {
  const get = objectOf(headers).get;
  if (typeof get !== "function") return null;
  const header = (name: string): number => Number(get.call(headers, name) ?? Number.NaN);
  const ms = header("retry-after-ms");
  if (ms >= 0) return Math.min(ms, LONGEST_WAIT_MS);
  const seconds = header("retry-after");
  return seconds >= 0 ? Math.min(seconds * 1000, LONGEST_WAIT_MS) : null;
}

/** An error and everything that caused it. */
function causesOf(error: unknown): object[] {
  const causes: object[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < 8 && typeof at === "object" && at !== null; depth += 1) {
    causes.push(at);
    at = (at as { readonly cause?: unknown }).cause;
  }
  return causes;
}

/** In the words of the platform's `fetch`, and by the code of its `http`. */
function isBadHeader(cause: object): boolean {
  const { code, message } = objectOf(cause);
  return code === "ERR_INVALID_CHAR" || /is an invalid header value|to a ByteString because/.test(String(message));
}

function wasNeverSent(cause: object): boolean {
  const { code, syscall, errors } = objectOf(cause);
  if (typeof code !== "string") return false;
  if (!UNREACHABLE.has(code)) return NEVER_SENT.has(code);
  // One error for all addresses of a name has those of each inside.
  const each = Array.isArray(errors) ? errors.map(objectOf) : [{ syscall }];
  return each.length > 0 && each.every((one) => one.syscall === "connect");
}
