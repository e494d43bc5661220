// Whether an account works: asks it once, by its cheapest call.

import type { Account, CallOptions, Failure } from "../contract/account.ts";
import { BAD_HEADER, statusOf, wordsOf } from "../format/client-error.ts";
import { secretsOf } from "../format/secrets.ts";

/** What is wrong with an account. */
export interface AccountFault {
  /** The account's name. */
  readonly account: string;
  /**
   * `key`: its key or credentials are refused, or missing; with status 403 it may lack the right to
   * list alone. `network`: no answer. `answer`: another one than it should be.
   */
  readonly kind: "key" | "network" | "answer";
  /** The HTTP status; null where there was no answer. */
  readonly status: number | null;
  /** The client's words, with those of its causes. */
  readonly message: string;
  readonly error: unknown;
}

/** Statuses of a list call that blame the key, or the account behind it. */
const REFUSALS: ReadonlySet<number | null> = new Set([401, 402, 403]);
const CHECK_MS = 30_000;

/**
 * Asks an account once whether it works, by its cheapest call: a page of one batch, or what the
 * account has in its place. null where it works, also where it asks for fewer calls. Never rejects.
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

/** What an error of `askAccount` says; null for one that asks for fewer calls. */
export function faultOf(account: Account, told: unknown): AccountFault | null {
  const { kind, code, message: said } = account.classify(told, "list");
  if (kind === "rateLimited") return null;
  const error = secretsOf(account).error(told);
  const [status, message] = [statusOf(error), code === BAD_HEADER ? said : wordsOf(error)];
  const fault = { account: account.name, status, message, error };
  if (status === null && /credential/i.test(message)) return { ...fault, kind: "key" };
  // A wrong address is the account's trouble, too, and not its key's.
  if ((kind === "authOrBilling" && status !== 404) || REFUSALS.has(status)) return { ...fault, kind: "key" };
  return { ...fault, kind: status === null ? "network" : "answer" };
}

/** The same as a failure of a call. */
export function failureIn({ kind, message }: AccountFault, classified: Failure): Failure {
  const { code } = classified;
  return kind === "key" ? { kind: "authOrBilling", code, message } : { kind: "unknown", code, message };
}
