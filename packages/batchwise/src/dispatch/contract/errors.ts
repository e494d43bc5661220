// The errors of the dispatcher. One class with a `code`, like the core's. It is a BatchwiseError,
// so callers need one check for both layers.

import { BatchwiseError } from "../../core/contract/errors.ts";

/**
 * Codes of this layer.
 *
 * At enqueue:
 * - `INVALID_REQUEST`: the request is not JSON, or has a forbidden or missing field.
 * - `UNKNOWN_ENDPOINT`: no account has this endpoint, or the body does not show which one it is.
 * - `MISSING_MODEL`: the request names no model.
 * - `NO_ACCOUNT`: no account serves this endpoint and model.
 * - `REQUEST_TOO_LARGE`: the request exceeds the byte or token cap by itself, or the size of one
 *   store call.
 * - `DUPLICATE_ID`: another body has this id.
 * - `NO_DISPATCHER`: `enqueueIn`: no dispatcher uses the store object, so nothing can check the
 *   requests.
 * - `TRANSACTION_UNUSABLE`: `enqueueIn`: the client has no transaction, a failed one, or one of
 *   another database.
 *
 * Stores:
 * - `STORE_UNAVAILABLE`: the store does not answer. Retryable.
 * - `STORE_FULL`: the store has no room left.
 * - `STORE_READ_ONLY`: the store refuses writes. Retryable for a server, which may fail over; not
 *   for a file.
 * - `STORE_SET_BACK`: the store lost writes that it had confirmed. Retryable.
 * - `STORE_FORBIDDEN`: a right or a login is missing.
 * - `STORE_SCHEMA`: the tables are of a later version, or the place does not exist.
 * - `STORE_DAMAGED`: the data, or the file that holds them, are damaged or were replaced.
 * - `STORE_EVICTS`: the server discards requests when its memory is full; `start` rejects with it.
 * - `STORE_AT_RISK`: `onError` only: other settings of the server can lose data.
 * - `STORE_SLOW`: `onError` only: a call has been open for 5 s; reported again when the store
 *   answers.
 * - `CLOCK_DIFFERS`: `onError` only: the clocks of this process and of the store's server differ by
 *   30 s or more; reported again when they agree.
 *
 * Requests and batches:
 * - `NOT_FOUND`: no request has that id.
 * - `PRUNED`: the request has ended and its outcome was pruned.
 * - `RESULTS_UNREADABLE`: a result source was cut, short or damaged. Retryable.
 * - `OBJECT_NOT_FOUND`: an ObjectStorage has no such object.
 * - `BATCH_STUCK`: a batch has not ended in its time, or could not be cancelled.
 * - `BATCH_BUSY`: another process works on the batch. Retryable.
 * - `ADOPTION_REFUSED`: the provider's batch that an operator named is not the batch's own.
 * - `QUARANTINED`: only requests of quarantined batches are left.
 * - `CLOSED`: the dispatcher has been stopped or closed.
 * - `ALREADY_STARTED`: `runDue`: the loops of this dispatcher run.
 *
 * Reported to `onError` only:
 * - `BATCH_REFUSED`: a batch was refused as a whole.
 * - `BATCH_FAILED`: no request of a batch succeeded.
 * - `BELOW_MINIMUM`: fewer requests wait than any account accepts in a batch.
 * - `ACCOUNT_PAUSED`: the account refuses every batch.
 * - `LANE_PAUSED`: the account refuses the requests of an endpoint and model one after the other,
 *   or has no capacity for them.
 * - `ACCOUNT_FULL`: a limit of the account is used up.
 * - `ACCOUNT_UNAVAILABLE`: the account gives no answer, or a wrong one.
 * - `CACHE_TOO_SHORT`: an account with `primeCache`: a request's cached prefix expires before
 *   another batch can read it.
 * - `CHECK_FAILED`: the check of an answer threw.
 * - `CHECK_MISSING`: a batch waits for a process that has its check.
 * - `RUN_TOO_SHORT`: `runDue`: a file, an `onBatch` or a sweep does not end within `maxMs`.
 * - `NOT_STARTED`: a `result` waits, and no process runs the loops.
 * - `WAITS_FOR_BATCH`: a `result` waits for a batch that closes much later.
 * - `NOT_ITERATED`: the caller of `runBatch` does not read its outcomes.
 * - `CALLER_LEFT`: `batchFetch`: a client gave up a call whose request continues.
 * - `SHORT_TIMEOUT`: `batchFetch`: the client will give the call up within the hour.
 *
 * `runBatch`:
 * - `ACCOUNT_REFUSED`: the keys of all accounts that could continue are refused.
 * - `MODEL_REFUSED`: nothing else of the job can run, and the providers do not have its model.
 * - `DEFAULTS_CHANGED`: an earlier run of the job had other `requestDefaults`.
 * - `PRICE_LIMIT`: `maxPrice` does not allow the next request (also reported to `onError`), or was
 *   not given again.
 */
export type DispatchErrorCode =
  | "INVALID_REQUEST"
  | "UNKNOWN_ENDPOINT"
  | "MISSING_MODEL"
  | "NO_ACCOUNT"
  | "REQUEST_TOO_LARGE"
  | "DUPLICATE_ID"
  | "DEFAULTS_CHANGED"
  | "NOT_FOUND"
  | "PRUNED"
  | "STORE_UNAVAILABLE"
  | "STORE_FULL"
  | "STORE_READ_ONLY"
  | "STORE_SET_BACK"
  | "STORE_FORBIDDEN"
  | "STORE_SCHEMA"
  | "STORE_DAMAGED"
  | "STORE_SLOW"
  | "CLOCK_DIFFERS"
  | "STORE_EVICTS"
  | "STORE_AT_RISK"
  | "RESULTS_UNREADABLE"
  | "OBJECT_NOT_FOUND"
  | "BELOW_MINIMUM"
  | "PRICE_LIMIT"
  | "QUARANTINED"
  | "BATCH_STUCK"
  | "BATCH_BUSY"
  | "ADOPTION_REFUSED"
  | "ACCOUNT_PAUSED"
  | "ACCOUNT_REFUSED"
  | "MODEL_REFUSED"
  | "ACCOUNT_FULL"
  | "ACCOUNT_UNAVAILABLE"
  | "NOT_STARTED"
  | "WAITS_FOR_BATCH"
  | "NOT_ITERATED"
  | "CALLER_LEFT"
  | "ALREADY_STARTED"
  | "CHECK_FAILED"
  | "CHECK_MISSING"
  | "CACHE_TOO_SHORT"
  | "RUN_TOO_SHORT"
  | "SHORT_TIMEOUT"
  | "BATCH_REFUSED"
  | "LANE_PAUSED"
  | "BATCH_FAILED"
  | "NO_DISPATCHER"
  | "TRANSACTION_UNUSABLE"
  | "CLOSED";

const RETRYABLE: ReadonlySet<string> = new Set<DispatchErrorCode>([
  "STORE_UNAVAILABLE",
  "STORE_READ_ONLY",
  "STORE_SET_BACK",
  "RESULTS_UNREADABLE",
  "BATCH_BUSY",
]);

/**
 * An error of the dispatcher, identified by its `code`.
 *
 * @example
 * ```ts
 * import { DispatchError } from "batchwise/dispatch";
 * const isTaken = (error: unknown): boolean => error instanceof DispatchError && error.code === "DUPLICATE_ID";
 * ```
 */
export class DispatchError extends BatchwiseError {
  constructor(code: DispatchErrorCode, message: string, cause?: unknown, retryable: boolean = RETRYABLE.has(code)) {
    super({ code, message, retryable, cause });
    this.name = "DispatchError";
  }
}

/** The error with another message and the original as its cause. */
export function reworded(error: DispatchError, message: string): DispatchError {
  return new DispatchError(error.code as DispatchErrorCode, message, error, error.retryable);
}

const PERMANENT: ReadonlySet<string> = new Set<DispatchErrorCode>([
  "STORE_FORBIDDEN",
  "STORE_SCHEMA",
  "STORE_DAMAGED",
  "STORE_READ_ONLY",
  "STORE_EVICTS",
]);

/** True for a fault of the store that stays until an operator corrects it. */
export function isPermanentFault(error: unknown): error is DispatchError {
  return error instanceof DispatchError && PERMANENT.has(error.code) && !error.retryable;
}

/** Thrown by an account for results of an inline create that do not name their requests. */
export class UnnamedResults extends DispatchError {
  constructor(message: string) {
    super("RESULTS_UNREADABLE", message);
  }
}

/**
 * The error of `outcomes({ untilIdle: true })` if the remaining requests need an operator.
 *
 * @example
 * ```ts
 * import { QuarantinedError } from "batchwise/dispatch";
 * const keysOf = (error: unknown): readonly string[] => (error instanceof QuarantinedError ? error.keys : []);
 * ```
 */
export class QuarantinedError extends DispatchError {
  /** Keys of the quarantined batches, for `requeue` or `resume`. */
  readonly keys: readonly string[];

  constructor(keys: readonly string[], requests: number) {
    const what = `${requests} ${requests === 1 ? "request has" : "requests have"} no outcome`;
    const where = `${keys.length === 1 ? "its batch is" : `their ${keys.length} batches are`} quarantined`;
    const out = "batches({ keys }) says why; resume(keys) continues them, requeue(keys) sends their requests anew.";
    super("QUARANTINED", `${what}: ${where} (${listed(keys)}). ${out}`);
    this.keys = keys;
  }
}

/** In US dollars. */
export interface PriceFigures {
  readonly limit: number;
  readonly spent: number;
  /** Reserved by open batches. */
  readonly reserved: number;
}

/**
 * The error of a `maxPrice` that does not allow the next request.
 *
 * @example
 * ```ts
 * import { PriceLimitError } from "batchwise/dispatch";
 * const spentOf = (error: unknown): number => (error instanceof PriceLimitError ? error.spent : 0);
 * ```
 */
export class PriceLimitError extends DispatchError implements PriceFigures {
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;

  /** `whose`: the job or tenant, as the subject of a sentence. */
  constructor(whose: string, { limit, spent, reserved }: PriceFigures) {
    const figures = `${dollars(spent)} are spent, ${dollars(reserved)} are reserved`;
    const reached = `${whose} has reached its \`maxPrice\` of ${dollars(limit)}: ${figures}`;
    const way = "It continues with a higher `maxPrice`.";
    super("PRICE_LIMIT", `${reached}, and its next request may cost more than the rest. ${way}`);
    this.name = "PriceLimitError";
    this.limit = limit;
    this.spent = spent;
    this.reserved = reserved;
  }
}

function dollars(amount: number): string {
  const rounded = Number(amount.toPrecision(6));
  // The shortest digits, never as 1e-7.
  return `$${rounded < 1e-6 && rounded > 0 ? rounded.toFixed(12).replace(/0+$/, "") : rounded}`;
}

const KEYS_NAMED = 3;

function listed(keys: readonly string[]): string {
  const named = keys.slice(0, KEYS_NAMED).join(", ");
  return keys.length > KEYS_NAMED ? `${named}, and ${keys.length - KEYS_NAMED} more` : named;
}

/** Codes of an outcome's `error` if the provider gave none. */
export const OUTCOME_CODES = {
  /** The batch ended without a result for it. */
  missing: "missing_result",
  /** The model's answer did not pass the check of the caller. */
  invalidOutput: "invalid_output",
  /** The result is no JSON, or nested too deeply to be stored. */
  unreadable: "result_unreadable",
  cancelled: "cancelled",
  expired: "deadline_exceeded",
  /** Too large for limits that were lowered after it was enqueued. */
  tooLarge: "request_too_large",
  /** The answer of the account's server exceeds its byte limit. */
  answerTooLarge: "answer_too_large",
  /** Fewer requests remained than any account accepts, and `onTail` is "fail". */
  belowMinimum: "below_minimum",
  /**
   * Refused as the only request of a batch, after every larger batch with it was refused as a
   * whole.
   */
  poison: "batch_refused",
  /** An operator abandoned its batch. */
  abandoned: "batch_abandoned",
} as const;

export function duplicateIdError(id: string): DispatchError {
  const message = `The id "${id}" is taken by a request with another body or endpoint. Bodies are compared as text, so`;
  return new DispatchError(
    "DUPLICATE_ID",
    `${message} the order of keys counts: send it as before, or give it a new id.`,
  );
}

/** The same for a call of many: its index, and the state of the `others`. */
export function takenIdsError(place: number, id: string, taken: number, others: string): DispatchError {
  const more = taken === 1 ? "" : ` The call has ${taken} such ids.`;
  const message = `requests[${place}]: ${duplicateIdError(id).message}${more}`;
  return new DispatchError("DUPLICATE_ID", `${message} ${others}`);
}

/** The store's error during many requests, with the number of those stored. */
export function partlyStored(error: unknown, stored: number, total: number): unknown {
  if (!(error instanceof DispatchError) || error.code === "STORE_SET_BACK") return error;
  const message = `${error.message} Of ${total} requests the first ${stored === 1 ? "one is" : `${stored} are`} stored, and maybe some that follow.`;
  return reworded(error, message);
}

export function tooLargeError(what: "bytes" | "tokens" | "inputs", size: number, cap: number): DispatchError {
  const message = `The request has ${size} ${what} alone, more than a whole batch may (${cap}).`;
  return new DispatchError("REQUEST_TOO_LARGE", message);
}

export function metadataError(bytes: number, most: number): DispatchError {
  const message = `The request has ${bytes} bytes of \`metadata\`, expected at most ${most}: store more elsewhere, under its id.`;
  return new DispatchError("REQUEST_TOO_LARGE", message);
}

export function notFoundError(id: string): DispatchError {
  return new DispatchError("NOT_FOUND", `There is no request with the id "${id}".`);
}

/**
 * The error of an ObjectStorage's `get` for a missing object.
 *
 * @example
 * ```ts
 * import { objectNotFoundError } from "batchwise/dispatch";
 * const files = new Map<string, Uint8Array>();
 * const read = (name: string): Uint8Array => {
 *   const found = files.get(name);
 *   if (found === undefined) throw objectNotFoundError(name);
 *   return found;
 * };
 * ```
 */
export function objectNotFoundError(uri: string, cause?: unknown): DispatchError {
  return new DispatchError("OBJECT_NOT_FOUND", `There is no object at ${uri}.`, cause);
}

export function prunedError(id: string): DispatchError {
  const message = `The request "${id}" has ended, and was pruned since: only its id and the digest of its body are kept.`;
  return new DispatchError("PRUNED", message);
}
