// What the commands know of an account that was made.

import type { Account } from "batchwise/dispatch";

/**
 * A bucket that an account works with, and a call that shows that it is there. It costs nothing.
 */
export interface Probe {
  /** Its address, as people know it. */
  readonly at: string;
  ask(call: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<unknown>;
}

export interface OpenAccount {
  readonly account: Account;
  /** What the account is known by there, as in "the key in OPENAI_API_KEY". */
  readonly credentials: string;
  /** Where its API is. */
  readonly url: string;
  /** How another address is given, as in "--base-url / OPENAI_BASE_URL". */
  readonly address: string;
  /** What to do where there are no credentials. */
  readonly advice: string;
  readonly buckets: readonly Probe[];
}
