/**
 * The headers with which a caller says how urgent a request is: `x-priority` and `x-timeout-ms`.
 *
 * Guarantees: a value that is not what was expected is refused with both; a caller cannot outlast
 * the server's own deadline, and no priority keeps others out for ever (waiting raises it). Does
 * not check who may have which priority.
 */

import { invalidRequest } from "../errors.ts";

export interface Urgency {
  readonly priority: number;
  /** From the request's arrival; Infinity where nobody named one. */
  readonly timeoutMs: number;
}

const PRIORITIES = { minimum: -10, maximum: 10 } as const;
const TIMEOUTS = { minimum: 1, maximum: 86_400_000 } as const;

export function readUrgency(headers: Headers, serverTimeoutMs: number): Urgency {
  const timeoutMs = readInteger(headers, "x-timeout-ms", TIMEOUTS) ?? Number.POSITIVE_INFINITY;
  return {
    priority: readInteger(headers, "x-priority", PRIORITIES) ?? 0,
    timeoutMs: Math.min(timeoutMs, serverTimeoutMs),
  };
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

function readInteger(headers: Headers, name: string, { minimum, maximum }: Range): number | null {
  const text = headers.get(name);
  if (text === null) return null;
  const value = Number(text);
  if (/^-?\d+$/.test(text) && value >= minimum && value <= maximum) return value;
  const message = `Expected the header \`${name}\` to be an integer from ${minimum} to ${maximum}, got "${text}".`;
  throw invalidRequest(message, name, "invalid_value");
}
