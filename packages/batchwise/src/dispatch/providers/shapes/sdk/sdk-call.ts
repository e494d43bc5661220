// Settings for every call of an official client. The dispatcher controls retries and timeouts.

import type { CallOptions } from "../../../contract/account.ts";

/** Settings of each call of an official client. */
export interface CallSettings {
  readonly maxRetries: 0;
  /** Whole milliseconds, as the SDKs require. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Longest delay of a platform timer, in ms. */
const LONGEST_MS = 2 ** 31 - 1;

export function callSettings({ signal, timeoutMs }: CallOptions): CallSettings {
  return { maxRetries: 0, timeout: Math.min(LONGEST_MS, Math.ceil(timeoutMs)), signal };
}
