// The errors of the core layer. One class, with a `code` for each error: a code survives bundling,
// minifying and two copies of the package, and a class identity does not. Option mistakes are plain
// TypeError / RangeError (see validate.ts). Also what counts as an Error and as a list of results,
// and how a message renders a value.

const BRAND: symbol = Symbol.for("batchwise.error");

/**
 * What went wrong, stable across versions. `INVALID_OPTION` is carried by plain TypeError and
 * RangeError.
 */
export type BatchwiseErrorCode =
  | "QUEUE_FULL"
  | "OVERLOADED"
  | "ITEM_TOO_LARGE"
  | "DEADLINE_EXCEEDED"
  | "CLOSED"
  | "BATCH_RESULT"
  | "HANDLER_TIMEOUT"
  | "STREAM_STALLED";

/** What an error of this layer or of a layer above is made from. */
export interface BatchwiseErrorInit {
  readonly code: string;
  readonly message: string;
  /** True when the same submit may succeed later without any change. */
  readonly retryable: boolean;
  readonly cause?: unknown;
}

/**
 * Every error that batchwise itself raises about an item or a batch.
 *
 * `code` says which (see {@link BatchwiseErrorCode}), `retryable` whether the same submit may
 * succeed later. `instanceof` works across two loaded copies of the package.
 *
 * @example
 * ```ts
 * import { BatchwiseError } from "batchwise";
 * const isBusy = (error: unknown): boolean => error instanceof BatchwiseError && error.code === "QUEUE_FULL";
 * ```
 */
export class BatchwiseError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** Of OVERLOADED: when to submit again, in milliseconds from now. */
  declare readonly retryAfterMs?: number;
  /** Of OVERLOADED from `submitMany`: how many of its items have been refused so far. */
  declare readonly refused?: number;
  /** Of OVERLOADED from `submitMany`: how many items it submitted. */
  declare readonly submitted?: number;

  constructor(init: BatchwiseErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = "BatchwiseError";
    this.code = init.code;
    this.retryable = init.retryable;
  }

  static {
    Object.defineProperty(BatchwiseError.prototype, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    try {
      if (this !== BatchwiseError) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === "object" && value !== null && BRAND in value;
    } catch {
      // A revoked Proxy, or one whose trap throws.
      return false;
    }
  }
}

/**
 * What a batcher is called in messages that users have not named; the default of the option `name`.
 */
export const NO_NAME = "batch";

const NAMED = "Batcher `";

/** A message that begins with the batcher's name, or with `unnamed` if it has none. */
export function inName(name: string, message: string, unnamed: string = ""): string {
  return name === NO_NAME || name === "" ? unnamed + message : `${NAMED}${name}\`: ${message}`;
}

/** Errors of this package, made where the batcher's name is not known. */
const nameless: WeakSet<Error> = new WeakSet();

/** An error that a batcher puts its name to when it gives it to a caller; see {@link nameError}. */
export function namelessError<Made extends Error>(error: Made): Made {
  nameless.add(error);
  return error;
}

/** Adds a batcher's name to an error without one; errors of users and other batchers stay as is. */
export function nameError(error: unknown, name: string): void {
  const own = error as Error;
  if (!nameless.delete(own) || own.message.startsWith(NAMED)) return;
  const { message, stack } = own;
  own.message = inName(name, message);
  if (stack !== undefined) own.stack = stack.replace(message, () => own.message);
}

/** A number of things in words: `1 item`, `2 items`. */
export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/**
 * An error that is worth another submit has no stack trace: it would show the engine only, and in
 * overload take half of its time.
 */
function errorOf(name: string, code: BatchwiseErrorCode, message: string, retryable: boolean): BatchwiseError {
  const { stackTraceLimit } = Error as { readonly stackTraceLimit?: number };
  // Not every engine has it, and it may be read-only.
  const isCut = retryable && stackTraceLimit !== undefined;
  if (isCut) Reflect.set(Error, "stackTraceLimit", 0);
  const error = new BatchwiseError({ code, message: inName(name, message), retryable });
  if (isCut) Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}

export function queueFullError(name: string, maxQueueSize: number, what = "waiting"): BatchwiseError {
  const items = `${countOf(maxQueueSize, "item")} ${maxQueueSize === 1 ? "is" : "are"}`;
  return errorOf(name, "QUEUE_FULL", `The queue is full: ${items} ${what} (maxQueueSize).`, true);
}

/** The error of an item that cannot be answered within the target. */
export function overloadedError(name: string, targetLatencyMs: number, retryAfterMs: number): BatchwiseError {
  const message = `The item cannot be answered within ${targetLatencyMs} ms of its submit (targetLatencyMs).`;
  return Object.assign(errorOf(name, "OVERLOADED", message, true), { retryAfterMs });
}

/** The same error for a call of many items. `refused` is to be counted up. */
export function overloadedCallError({ message, retryAfterMs = 0 }: BatchwiseError, submitted: number): RefusedCall {
  return Object.assign(errorOf("", "OVERLOADED", message, true), { retryAfterMs, refused: 0, submitted });
}

export type RefusedCall = BatchwiseError & { refused: number };

/** The error of a call whose items the queue can never hold at once. */
export function callTooLargeError(name: string, size: number, what: string, maxQueueSize: number): BatchwiseError {
  const message = `A call of ${size} ${what} can never fit in the queue, which holds ${maxQueueSize} (maxQueueSize). Split it, or set onFull to "wait".`;
  return errorOf(name, "QUEUE_FULL", message, false);
}

export function droppedError(name: string, maxQueueSize: number): BatchwiseError {
  const message = `Dropped for a newer item: ${countOf(maxQueueSize, "item")} ${maxQueueSize === 1 ? "was" : "were"} waiting (maxQueueSize) and onFull is "drop-oldest".`;
  return errorOf(name, "QUEUE_FULL", message, true);
}

export function itemTooLargeError(name: string, cost: number, maxBatchCost: number): BatchwiseError {
  const message = `The item costs ${cost}, more than a whole batch may (maxBatchCost ${maxBatchCost}). Split it, or set oversize to "alone".`;
  return errorOf(name, "ITEM_TOO_LARGE", message, false);
}

/** The same refusal in the words of a token batcher. */
export function tooManyTokensError(name: string, tokens: number, maxBatchTokens: number): BatchwiseError {
  const message = `The item has ${countOf(tokens, "token")}, more than a whole batch may (maxBatchTokens ${maxBatchTokens}). Split it, or set oversize to "alone".`;
  return errorOf(name, "ITEM_TOO_LARGE", message, false);
}

export function deadlineError(name: string, timeoutMs: number): BatchwiseError {
  return errorOf(name, "DEADLINE_EXCEEDED", `The item was not answered within ${timeoutMs} ms of its submit.`, true);
}

export function closedError(name: string): BatchwiseError {
  return errorOf(name, "CLOSED", "The batcher is closed.", false);
}

export function handlerTimeoutError(name: string, handlerTimeoutMs: number, size: number): BatchwiseError {
  const message = `The handler did not answer a batch of ${size} within ${handlerTimeoutMs} ms (handlerTimeoutMs).`;
  return errorOf(name, "HANDLER_TIMEOUT", message, true);
}

/**
 * The handler returned something that cannot be dealt out to `expected` callers; with `hole`, the
 * index of a hole. An explicit `undefined` is a result.
 */
export function batchResultError(name: string, returned: unknown, expected: number, hole?: number): BatchwiseError {
  return errorOf(name, "BATCH_RESULT", notOneEach("return", "result", returned, expected, hole), false);
}

/** Says that an answer has not one thing for each of `expected` callers. */
export function notOneEach(verb: string, thing: string, returned: unknown, expected: number, hole?: number): string {
  const length = resultLength(returned);
  const [what, got] = length === undefined ? ["an array of ", describe(returned)] : ["", length];
  const came = hole === undefined ? got : `none at index ${hole}`;
  return `Expected the handler to ${verb} ${what}${countOf(expected, thing)}, one per item, got ${came}.`;
}

/** Number of places in a handler's answer; undefined if it is no array or numeric typed array. */
export function resultLength(returned: unknown): number | undefined {
  try {
    if (Array.isArray(returned)) return returned.length;
    if (ArrayBuffer.isView(returned) && !(returned instanceof DataView)) return (returned as Uint8Array).length;
  } catch {
    return undefined;
  }
  return undefined;
}

/** True for an Error of this realm or another (a vm context, an iframe, a worker's clone). */
export function isError(value: unknown): value is Error {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Error) return true;
  return "message" in value && /^\[object (?:Error|DOMException)\]$/.test(Object.prototype.toString.call(value));
}

const LONGEST_VALUE = 80;

/** A short, safe rendering of a value for messages: `` `0` (number) ``. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return `\`${value}\``;
  if (typeof value === "object") return `an object (${constructorName(value)})`;
  if (typeof value === "function") return "a function";
  const text = String(value);
  return `\`${text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text}\` (${typeof value})`;
}

function constructorName(value: object): string {
  try {
    const { name } = value.constructor;
    return typeof name === "string" && name !== "" ? name : "without a class";
  } catch {
    return "without a class";
  }
}
