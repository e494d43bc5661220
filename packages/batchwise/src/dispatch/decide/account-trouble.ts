// What a failed call says about its account, in words for a person. Pure.

import type { Failure, Operation } from "../contract/account.ts";
import { DispatchError } from "../contract/errors.ts";
import { statusOf, wordsOf } from "../format/client-error.ts";

/** Codes of the errors that `onError` gets for an account whose requests wait. */
export type AccountTrouble = "ACCOUNT_PAUSED" | "ACCOUNT_FULL" | "ACCOUNT_UNAVAILABLE";

/**
 * Statuses that blame the key, or what it may do. 402 and 429 ask for money, which may come while a
 * job waits.
 */
const KEY_REFUSED: ReadonlySet<number | null> = new Set([401, 403]);
const READS: ReadonlySet<Operation> = new Set(["retrieve", "results", "files"]);
const LISTS: ReadonlySet<Operation> = new Set(["list", "find"]);

/**
 * A success of an account. `read`: an answer about a batch. `taken`: it began a batch. `results`: a
 * line that succeeded.
 */
export type Success = "upload" | "create" | "execute" | "read" | "taken" | "results";

/** null for a failure that blames the batch, not its account. */
export function troubleOf({ kind }: Failure): AccountTrouble | null {
  switch (kind) {
    case "authOrBilling":
      return "ACCOUNT_PAUSED";
    case "tokenLimit":
    case "rateLimited":
      return "ACCOUNT_FULL";
    case "invalidRequest":
      return null;
    default:
      return "ACCOUNT_UNAVAILABLE";
  }
}

/**
 * The success that ends a trouble which a call of this kind shows; null for what other calls say
 * nothing of.
 */
export function disproofOf(operation: Operation, error: unknown): Success | null {
  if (mayOnlyNotList(operation, error)) return null;
  if (operation === "upload" || operation === "create") return "create";
  return operation === "execute" ? "execute" : "read";
}

/** A key may have the right to send and to read, and not to list. */
function mayOnlyNotList(operation: Operation, error: unknown): boolean {
  return LISTS.has(operation) && statusOf(error) === 403;
}

/** An account whose key is refused. */
export interface KeyRefusal {
  /** "answered 401 (invalid_api_key: Incorrect API key provided)" */
  readonly words: string;
  /** Batches that were sent cannot be read either. */
  readonly blocksReads: boolean;
}

/** null where the failure does not blame the key. */
export function keyRefusalOf(failure: Failure, error: unknown, operation: Operation): KeyRefusal | null {
  if (failure.kind !== "authOrBilling" || mayOnlyNotList(operation, error)) return null;
  const status = statusOf(error);
  const isOfKey = KEY_REFUSED.has(status) || /api[ _-]?key|credential/i.test(`${failure.code} ${failure.message}`);
  if (!isOfKey) return null;
  return { words: answered(failure, error), blocksReads: status !== 403 || READS.has(operation) };
}

/** The error for `onError`, which has the client's own as its cause. */
export function troubleError(
  trouble: AccountTrouble,
  account: string,
  failure: Failure,
  error: unknown,
  operation: Operation,
): DispatchError {
  const isOfKey = trouble === "ACCOUNT_PAUSED" && keyRefusalOf(failure, error, operation) !== null;
  const follows = mayOnlyNotList(operation, error) ? NOT_LISTED : isOfKey ? KEY_KEEPS : WHAT_FOLLOWS[trouble];
  return new DispatchError(trouble, `The account "${account}" ${answered(failure, error)}. ${follows}`, error);
}

/** What a refused key does to requests, in the words of every message. */
export const KEY_KEEPS = "Its requests stay in the store, and go on once the key is right.";

const NOT_LISTED = "Its batches cannot be listed. It may still send: the next upload or create shows that.";

const WHAT_FOLLOWS: Readonly<Record<AccountTrouble, string>> = {
  ACCOUNT_PAUSED: "Its requests wait, until that ends.",
  ACCOUNT_FULL: "Its requests wait until there is room.",
  ACCOUNT_UNAVAILABLE: "Its requests wait, and are tried again.",
};

/** What the account did, in its own words. */
function answered({ kind, code, message }: Failure, error: unknown): string {
  const status = statusOf(error);
  // Clients put the status before the words.
  const full = wordsOf(error).replace(new RegExp(`^${status} `), "");
  const brief = message.replace(/\.$/, "").replace(new RegExp(`^${status} `), "");
  const said = `${code}: ${full.includes(brief) ? full : brief}`;
  if (status !== null) return `answered ${status} (${said})`;
  return kind === "unknown" || kind === "definitelyNotCreated"
    ? `gave no answer (${said})`
    : `refuses batches (${said})`;
}
