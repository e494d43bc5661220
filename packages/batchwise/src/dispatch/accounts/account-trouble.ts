// Describes an account problem that a failed call shows. Pure.

import { DispatchError } from "../contract/errors.ts";
import type { Failure, Operation } from "../contract/failures.ts";
import { NOT_JSON, statusOf, wordsOf } from "../format/client-error.ts";
import { isOfTheKey } from "./provider-codes.ts";

/** Codes of the errors that `onError` gets for an account whose requests wait. */
export type AccountTrouble = "ACCOUNT_PAUSED" | "ACCOUNT_FULL" | "ACCOUNT_UNAVAILABLE";

/**
 * Statuses that blame the key or its permissions. 402 and 429 may mean missing credit, which may be
 * added while a job waits.
 */
const KEY_REFUSED: ReadonlySet<number | null> = new Set([401, 403]);
const READS: ReadonlySet<Operation> = new Set(["retrieve", "results", "files"]);
const LISTS: ReadonlySet<Operation> = new Set(["list", "find"]);

/**
 * Kinds of successful calls. `read`: an answer about a batch. `taken`: the provider began a batch.
 * `results`: a line that succeeded.
 */
export type Success = "upload" | "create" | "execute" | "read" | "taken" | "results";

/** null for a failure that blames the batch and not its account. */
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
 * The success that ends a trouble shown by a call of this kind; null for calls that show nothing.
 */
export function disproofOf(operation: Operation, error: unknown): Success | null {
  if (mayOnlyNotList(operation, error)) return null;
  if (operation === "upload" || operation === "create") return "create";
  return operation === "execute" ? "execute" : "read";
}

/** True if the key may be allowed to send and read, but not to list. */
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

/** null if the failure does not blame the key. */
export function keyRefusalOf(failure: Failure, error: unknown, operation: Operation): KeyRefusal | null {
  if (failure.kind !== "authOrBilling" || mayOnlyNotList(operation, error)) return null;
  const status = statusOf(error);
  const isOfKey = KEY_REFUSED.has(status) || isOfTheKey(failure);
  if (!isOfKey) return null;
  return { words: answered(failure, error), blocksReads: status !== 403 || READS.has(operation) };
}

/** The error for `onError`, with the client's error as its cause. */
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

const KEY_KEEPS = "Its requests wait in the store for a key that is right.";

const NOT_LISTED = "Its batches cannot be listed. It may still send: the next upload or create shows that.";

const WHAT_FOLLOWS: Readonly<Record<AccountTrouble, string>> = {
  ACCOUNT_PAUSED: "Its requests wait, until that ends.",
  ACCOUNT_FULL: "Its requests wait until there is room.",
  ACCOUNT_UNAVAILABLE: "Its requests wait, and are tried again.",
};

/** Describes the account's answer. */
function answered({ kind, code, message }: Failure, error: unknown): string {
  const status = statusOf(error);
  // Clients put the status before the message.
  const full = wordsOf(error).replace(new RegExp(`^${status} `), "");
  const brief = message.replace(/\.$/, "").replace(new RegExp(`^${status} `), "");
  const said = `${code}: ${full.includes(brief) ? full : brief}`;
  if (status !== null) return `answered ${status} (${said})`;
  if (code === NOT_JSON) return `is not what answers (${said})`;
  return kind === "unknown" || kind === "definitelyNotCreated"
    ? `gave no answer (${said})`
    : `refuses batches (${said})`;
}
