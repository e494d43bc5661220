/**
 * The headers for the urgency of a request: `x-priority` and `x-timeout-ms`.
 *
 * Guarantees: the error of a wrong value has the value and the expected one. A caller cannot exceed
 * the server's own deadline. No priority blocks other requests permanently, because their rank
 * improves as they wait. Does not check who may use which priority.
 */

import { invalidRequest } from "../errors.ts";

export interface Urgency {
  readonly priority: number;
  /**
   * Counted from the request's arrival; Infinity if neither the request nor the server sets one.
   */
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
