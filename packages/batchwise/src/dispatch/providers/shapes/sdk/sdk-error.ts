// Reads the errors of official clients by shape, so that it works for all SDKs and versions. Pure.

import { statusOf, wordsOf } from "../../../format/client-error.ts";
import { headerOf } from "../../../format/headers.ts";

export { jsonObject } from "../../../format/json-object.ts";

const LONGEST_WAIT_MS = 3_600_000;

/** The fields of an error; null if absent. */
export interface SdkError {
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null;
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** True if nothing was sent: no connection was made. */
  readonly neverSent: boolean;
  /** True if the platform refused a header, such as a key with a line break. No call was made. */
  readonly isBadHeader: boolean;
}

/** Platform codes for connections that were never made. */
const NEVER_SENT: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
/** These also occur on open connections, so the call may have been sent. */
const UNREACHABLE: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH"]);

export function readSdkError(error: unknown): SdkError {
  const own = objectOf(error);
  // The body is `{ error: { ... } }`; some clients unwrap it.
  const body = objectOf(own.error);
  const inner = body.error === undefined ? body : objectOf(body.error);
  const status = statusOf(own);
  return {
    status,
    code: text(inner.code) ?? text(own.code) ?? awsCode(own),
    type: text(inner.type) ?? text(own.type),
    param: text(inner.param) ?? text(own.param),
    // xAI's body is `{ error: "words" }`.
    message: text(inner.message) ?? text(own.error) ?? unanswered(own, status) ?? text(own.message) ?? String(error),
    retryAfterMs: retryAfter(own.headers),
    neverSent: status === null && causesOf(error).some(wasNeverSent),
    isBadHeader: status === null && causesOf(error).some(isBadHeader),
  };
}

/** The messages of the causes, because "Connection error." has no details. */
function unanswered(own: { readonly [key: string]: unknown }, status: number | null): string | null {
  return status === null && typeof own.cause === "object" && own.cause !== null ? wordsOf(own) : null;
}

/** The error code of Amazon's clients, which is the error's class name. */
function awsCode({ $metadata, name }: { readonly [key: string]: unknown }): string | null {
  return $metadata === undefined ? null : text(name);
}

export function objectOf(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}

export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/**
 * The retry delay in ms, an hour at most: some services send a time of day, which would postpone
 * the next look by years.
 */
function retryAfter(headers: unknown): number | null {
  const header = (name: string): number => Number(headerOf(headers, name) ?? Number.NaN);
  const ms = header("retry-after-ms");
  if (ms >= 0) return Math.min(ms, LONGEST_WAIT_MS);
  const seconds = header("retry-after");
  return seconds >= 0 ? Math.min(seconds * 1000, LONGEST_WAIT_MS) : null;
}

/** The error and all of its causes. */
function causesOf(error: unknown): object[] {
  const causes: object[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < 8 && typeof at === "object" && at !== null; depth += 1) {
    causes.push(at);
    at = (at as { readonly cause?: unknown }).cause;
  }
  return causes;
}

/** Recognises a refused header by the message of `fetch` or the code of `http`. */
function isBadHeader(cause: object): boolean {
  const { code, message } = objectOf(cause);
  return code === "ERR_INVALID_CHAR" || /is an invalid header value|to a ByteString because/.test(String(message));
}

function wasNeverSent(cause: object): boolean {
  const { code, syscall, errors } = objectOf(cause);
  if (typeof code !== "string") return false;
  if (!UNREACHABLE.has(code)) return NEVER_SENT.has(code);
  // An error for all addresses of a name contains one for each.
  const each = Array.isArray(errors) ? errors.map(objectOf) : [{ syscall }];
  return each.length > 0 && each.every((one) => one.syscall === "connect");
}
