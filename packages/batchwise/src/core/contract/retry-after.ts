// Reads the retry delay from an error that a handler threw. Errors of the OpenAI and Anthropic
// clients have `headers`, errors of axios and gaxios `response.headers`, errors of the AI SDK
// `responseHeaders`; all are read by shape. Never throws.

/** Maximum delay: a day. */
export const LONGEST_RETRY_AFTER_MS = 86_400_000;

/**
 * The retry delay of an error in ms, or undefined if it has none.
 *
 * Its own `retryAfterMs` takes precedence, then the header `retry-after-ms` (ms), then
 * `retry-after` (seconds, also fractional, or an HTTP date, measured from `epochNow`). Negative and
 * past values are ignored.
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

/** A property's value; undefined if it is absent or reading it throws. */
function property(object: unknown, name: string): unknown {
  if ((typeof object !== "object" && typeof object !== "function") || object === null) return undefined;
  try {
    return (object as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/**
 * A header as text, "" if absent. `headers`: a Headers, a Map, or a plain object with names in any
 * case.
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

/** Node.js and some clients give a list of values or a number. */
function text(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" || typeof first === "number" ? String(first).trim() : "";
}

/** A plain decimal number, as RFC 9110 requires. `Date.parse` would read "-5" as a month. */
const DECIMAL = /^\d+(\.\d*)?$/;

function milliseconds(value: string): number | undefined {
  return DECIMAL.test(value) ? wait(Number(value)) : undefined;
}

function delay(value: string, epochNow: number): number | undefined {
  return wait(DECIMAL.test(value) ? Number(value) * 1_000 : dateOf(value) - epochNow);
}

/** A date with a time of day. Without a zone (HTTP's asctime form) it is GMT. */
function dateOf(value: string): number {
  if (!/\d:\d\d/.test(value)) return Number.NaN;
  return Date.parse(/(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value} GMT`);
}

function wait(ms: number): number | undefined {
  return ms >= 0 ? Math.min(ms, LONGEST_RETRY_AFTER_MS) : undefined;
}
