// The settings that every call of an official client is made with: the dispatcher owns retries and
// time.

import type { CallOptions } from "../../contract/account.ts";

/** The settings that each call of an official client is made with. */
export interface CallSettings {
  readonly maxRetries: 0;
  /** Whole milliseconds: the SDKs take no others. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/** Longest time that platform timers hold. */
const LONGEST_MS = 2 ** 31 - 1;

export function callSettings({ signal, timeoutMs }: CallOptions): CallSettings {
  return { maxRetries: 0, timeout: Math.min(LONGEST_MS, Math.ceil(timeoutMs)), signal };
}
