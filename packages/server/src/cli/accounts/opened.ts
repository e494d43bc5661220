// An opened account, as the commands see it.

import type { Account } from "batchwise/dispatch";

/** A bucket of an account, and a free call that shows that it exists. */
export interface Probe {
  /** Its address, for messages. */
  readonly at: string;
  ask(call: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<unknown>;
}

export interface OpenAccount {
  readonly account: Account;
  /** The source of its credentials, for example "the key in OPENAI_API_KEY". */
  readonly credentials: string;
  /** The address of its API. */
  readonly url: string;
  /** How to set another address, for example "--base-url / OPENAI_BASE_URL". */
  readonly address: string;
  /** What to do if there are no credentials. */
  readonly advice: string;
  readonly buckets: readonly Probe[];
}
