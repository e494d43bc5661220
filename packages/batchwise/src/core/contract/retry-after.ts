// How long a provider asked to be left alone, read from what a handler threw. Errors of the OpenAI
// and Anthropic clients carry `headers`, those of axios and gaxios `response.headers`, those of the
// AI SDK `responseHeaders`; all are read by shape. It never throws, whatever the error is made of.

/** A longer wait counts as this: a day. */
export const LONGEST_RETRY_AFTER_MS = 86_400_000;

/**
 * The wait that an error asks for, in milliseconds, or undefined where it asks for none that can be
 * read.
 *
 * Its own `retryAfterMs` comes first, then the header `retry-after-ms` (milliseconds), then
 * `retry-after` (seconds, also fractional, or an HTTP date, which is measured from `epochNow`).
 * What is negative or past is not a wait.
 */
export function retryAfterMs(error: unknown, epochNow: number): number | undefined {
  const own = property(error, "retryAfterMs");
  const asked = typeof own === "number" ? wait(own) : undefined;
  if (asked !== undefined) return asked;
  const answer = property(error, "response");
  for (const headers of [property(error, "headers"), property(answer, "headers"), property(error, "responseHeaders")]) {
    const found = milliseconds(header(headers, "retry-after-ms")) ?? delay(header(headers, "retry-after"), epochNow);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The value of a property; undefined where there is none or where reading it throws. */
function property(object: unknown, name: string): unknown {
  if ((typeof object !== "object" && typeof object !== "function") || object === null) return undefined;
  try {
    return (object as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/**
 * A header as text, "" where there is none. `headers` is a Headers, a Map or a plain object with
 * names in any case.
 */
function header(headers: unknown, name: string): string {
  if (typeof headers !== "object" || headers === null) return "";
  try {
    const { get } = headers as { readonly get?: unknown };
    return (typeof get === "function" && text(get.call(headers, name))) || text(byName(headers, name));
  } catch {
    return "";
  }
}

function byName(headers: object, name: string): unknown {
  const entries = headers instanceof Map ? headers : Object.entries(headers);
  for (const [key, value] of entries) {
    if (typeof key === "string" && key.toLowerCase() === name) return value;
  }
  return undefined;
}

/** Node.js and some clients give a list of values, or a number. */
function text(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" || typeof first === "number" ? String(first).trim() : "";
}

/**
 * The part of RFC 9110 that counts: a plain decimal number. `Date.parse` would take "-5" for a
 * month.
 */
const DECIMAL = /^\d+(\.\d*)?$/;

function milliseconds(value: string): number | undefined {
  return DECIMAL.test(value) ? wait(Number(value)) : undefined;
}

function delay(value: string, epochNow: number): number | undefined {
  return wait(DECIMAL.test(value) ? Number(value) * 1_000 : dateOf(value) - epochNow);
}

/** A date with a time of day. One without a zone (the asctime form of HTTP) is in GMT. */
function dateOf(value: string): number {
  if (!/\d:\d\d/.test(value)) return Number.NaN;
  return Date.parse(/(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value} GMT`);
}

function wait(ms: number): number | undefined {
  return ms >= 0 ? Math.min(ms, LONGEST_RETRY_AFTER_MS) : undefined;
}
