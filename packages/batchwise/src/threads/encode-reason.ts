// Errors on their way between threads. Structured clone keeps an Error's message alone of what programs look at; here
// class, name, code, retryable, cause, stack and every own property that can be cloned arrive as they were.
// Classes that both threads have (BatchwiseError, those of the language, DOMException) are the same class afterwards,
// others are an Error with their name.

import { BatchwiseError, describe, isError } from "../core/contract/errors.ts";

export interface EncodedReason {
  readonly kind: "error" | "batchwise" | "dom" | "value";
  /** The name of a class of the language, or "Error". */
  readonly base: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause: EncodedReason | undefined;
  /** Those of an AggregateError. */
  readonly errors: readonly EncodedReason[] | undefined;
  /** Other properties; of kind "value", the value itself. */
  readonly own: Readonly<Record<string, unknown>>;
}

const BASES: Readonly<Record<string, ErrorConstructor>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

/** A chain of causes that is longer is cut, and so is one that is a ring. */
const LONGEST_CHAIN = 8;
const READ_BY_NAME: ReadonlySet<string> = new Set(["name", "message", "stack", "cause", "errors"]);

/** Never throws, whatever was thrown. */
export function encodeReason(reason: unknown, depth: number = 0): EncodedReason {
  try {
    return isError(reason) ? encodeError(reason, depth) : encodeValue(reason);
  } catch {
    return encodeError(new Error(`An error that cannot be read: ${describe(reason)}`), LONGEST_CHAIN);
  }
}

function encodeValue(value: unknown): EncodedReason {
  if (!isCloneable(value)) {
    return encodeError(new Error(`Expected an Error, got ${describe(value)}, which cannot be cloned.`), LONGEST_CHAIN);
  }
  const nothing = { base: "Error", name: "", message: "", stack: undefined, cause: undefined, errors: undefined };
  return { kind: "value", ...nothing, own: { value } };
}

function encodeError(error: Error, depth: number): EncodedReason {
  const goesOn = depth < LONGEST_CHAIN;
  const { cause } = error;
  const errors = (error as { readonly errors?: unknown }).errors;
  return {
    kind: kindOf(error),
    base: baseOf(error),
    name: String(error.name),
    message: String(error.message),
    stack: typeof error.stack === "string" ? error.stack : undefined,
    cause: cause === undefined || !goesOn ? undefined : encodeReason(cause, depth + 1),
    errors: Array.isArray(errors) && goesOn ? errors.map((one) => encodeReason(one, depth + 1)) : undefined,
    own: ownOf(error),
  };
}

function kindOf(error: Error): EncodedReason["kind"] {
  if (error instanceof BatchwiseError) return "batchwise";
  return error instanceof DOMException ? "dom" : "error";
}

/** The nearest class of the language. Of another realm's error, its name says. */
function baseOf(error: Error): string {
  for (const [name, Base] of Object.entries(BASES)) if (error instanceof Base) return name;
  const { name } = error;
  return Object.prototype.isPrototypeOf.call(Error.prototype, error) || !Object.hasOwn(BASES, name) ? "Error" : name;
}

function ownOf(error: Error): Record<string, unknown> {
  const own: Record<string, unknown> = {};
  for (const key of Object.keys(error)) {
    const value: unknown = (error as unknown as Record<string, unknown>)[key];
    if (!READ_BY_NAME.has(key) && isCloneable(value)) own[key] = value;
  }
  return own;
}

function isCloneable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function" && typeof value !== "symbol";
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

export function decodeReason(encoded: EncodedReason): unknown {
  if (encoded.kind === "value") return encoded.own.value;
  const error = revive(encoded);
  if (encoded.stack !== undefined) define(error, "stack", encoded.stack);
  for (const [key, value] of Object.entries(encoded.own)) {
    if (encoded.kind !== "batchwise" || !(key in error)) define(error, key, value, true);
  }
  return error;
}

function revive(encoded: EncodedReason): Error {
  const { kind, message, name, base, own, errors } = encoded;
  const cause = encoded.cause === undefined ? undefined : decodeReason(encoded.cause);
  if (kind === "dom") {
    const error = new DOMException(message, name);
    if (cause !== undefined) define(error, "cause", cause);
    return error;
  }
  if (kind === "batchwise") {
    const { code, retryable } = own;
    const error = new BatchwiseError({ code: String(code), message, retryable: retryable === true, cause });
    if (name !== error.name) define(error, "name", name);
    return error;
  }
  const options = cause === undefined ? undefined : { cause };
  const Base = BASES[base] ?? Error;
  const error =
    errors === undefined ? new Base(message, options) : new AggregateError(errors.map(decodeReason), message, options);
  if (error.name !== name) define(error, "name", name);
  return error;
}

function define(error: Error, key: string, value: unknown, enumerable: boolean = false): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
