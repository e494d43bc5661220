// Checks with its cheapest call whether an account works.

import type { Account, CallOptions } from "../contract/account.ts";
import type { Failure } from "../contract/failures.ts";
import { atOnce } from "../format/at-once.ts";
import { BAD_HEADER, NOT_JSON, statusOf, wordsOf } from "../format/client-error.ts";
import { secretsOf } from "../format/secrets.ts";

/** A fault of an account. */
export interface AccountFault {
  /** The account's name. */
  readonly account: string;
  /**
   * `key`: its key or credentials are refused or missing; with status 403 it may only lack the
   * permission to list. `network`: no answer. `answer`: an unexpected one.
   */
  readonly kind: "key" | "network" | "answer";
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** The client's message, with the messages of its causes. */
  readonly message: string;
  readonly error: unknown;
}

/** Statuses of a list call that blame the key or its account. */
const REFUSALS: ReadonlySet<number | null> = new Set([401, 402, 403]);
const CHECK_MS = 30_000;

/**
 * Checks once whether an account works, with its cheapest call: a page of one batch, or the
 * account's own check. null if it works, also if it only wants fewer calls. Never rejects.
 *
 * @example
 * ```ts
 * import { type Account, checkAccount } from "batchwise/dispatch";
 * async function isReady(accounts: readonly Account[]): Promise<boolean> {
 *   const faults = await Promise.all(accounts.map((account) => checkAccount(account)));
 *   for (const fault of faults) if (fault !== null) console.error(fault.account, fault.status, fault.message);
 *   return faults.every((fault) => fault === null);
 * }
 * ```
 */
export async function checkAccount(account: Account): Promise<AccountFault | null> {
  const timeoutMs = checkTimeoutMs(account);
  try {
    await askAccount(account, { signal: AbortSignal.timeout(timeoutMs), timeoutMs });
    return null;
  } catch (error) {
    return faultOf(account, error);
  }
}

/** At most 30 seconds. */
export function checkTimeoutMs({ requestTimeoutMs }: Pick<Account, "requestTimeoutMs">): number {
  return Math.min(CHECK_MS, requestTimeoutMs);
}

export async function askAccount(account: Account, call: CallOptions): Promise<void> {
  if (account.check === undefined) await account.list({ cursor: null, limit: 1 }, call);
  else await account.check(call);
}

/** The fault in an error of `askAccount`; null for one that only wants fewer calls. */
export function faultOf(account: Account, told: unknown): AccountFault | null {
  const { kind, code, message: said } = atOnce(account, "classify", account.classify(told, "list"));
  if (kind === "rateLimited") return null;
  const error = secretsOf(account).error(told);
  const [status, message] = [statusOf(error), code === BAD_HEADER ? said : wordsOf(error)];
  const fault = { account: account.name, status, message, error };
  if (status === null && /credential/i.test(message)) return { ...fault, kind: "key" };
  // A wrong address is the account's problem, but not its key's.
  if ((kind === "authOrBilling" && status !== 404) || REFUSALS.has(status)) return { ...fault, kind: "key" };
  return { ...fault, kind: status === null && code !== NOT_JSON ? "network" : "answer" };
}

/** The fault as a failure of a call. */
export function failureIn({ kind, message }: AccountFault, classified: Failure): Failure {
  const { code } = classified;
  return kind === "key" ? { kind: "authOrBilling", code, message } : { kind: "unknown", code, message };
}
