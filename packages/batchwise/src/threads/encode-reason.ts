// Sends errors between threads. Structured clone keeps little more than an Error's message; here
// class, name, code, retryable, cause, stack and every own property that can be cloned are kept.
// Classes that both threads have (BatchwiseError, the language's own, DOMException) keep their
// class; other errors become an Error with their name.

import { BatchwiseError, describe, isError } from "../core/contract/errors.ts";

export interface EncodedReason {
  readonly kind: "error" | "batchwise" | "dom" | "value";
  /** The name of a class of the language, or "Error". */
  readonly base: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause: EncodedReason | undefined;
  /** The errors of an AggregateError. */
  readonly errors: readonly EncodedReason[] | undefined;
  /** Other properties; for kind "value", the value itself. */
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

/** A longer chain of causes is cut. */
const LONGEST_CHAIN = 8;
/** Most errors and values of one reason, with its causes and parts; further ones are dropped. */
const MOST_PARTS = 100;
const READ_BY_NAME: ReadonlySet<string> = new Set(["name", "message", "stack", "cause", "errors"]);

/** State of encoding one reason. */
interface Progress {
  /** By error; undefined while its causes and parts are being encoded. */
  readonly errors: Map<Error, EncodedReason | undefined>;
  count: number;
}

/**
 * Never throws, for any reason. Encodes each error once, and drops a cause or part that leads back
 * to it.
 */
export function encodeReason(reason: unknown): EncodedReason {
  const progress: Progress = { errors: new Map(), count: 0 };
  return encode(reason, progress, 0) ?? withoutParts(`Expected an error, got ${describe(reason)}`);
}

/** Undefined if the value is dropped. */
function encode(reason: unknown, progress: Progress, depth: number): EncodedReason | undefined {
  try {
    if (!isError(reason)) return progress.count++ < MOST_PARTS ? encodeValue(reason) : undefined;
    if (progress.errors.has(reason)) return progress.errors.get(reason);
    if (progress.count++ >= MOST_PARTS) return undefined;
    progress.errors.set(reason, undefined);
    const encoded = encodeError(reason, partsOf(reason, progress, depth));
    progress.errors.set(reason, encoded);
    return encoded;
  } catch {
    return withoutParts(`An error that cannot be read: ${describe(reason)}`);
  }
}

function withoutParts(message: string): EncodedReason {
  return encodeError(new Error(message), { cause: undefined, errors: undefined });
}

function encodeValue(value: unknown): EncodedReason {
  const clone = cloneOf(value);
  if (clone === undefined) {
    return withoutParts(`Expected an Error, got ${describe(value)}, which cannot be cloned.`);
  }
  const nothing = { base: "Error", name: "", message: "", stack: undefined, cause: undefined, errors: undefined };
  return { kind: "value", ...nothing, own: clone };
}

type Parts = Pick<EncodedReason, "cause" | "errors">;

function partsOf(error: Error, progress: Progress, depth: number): Parts {
  if (depth >= LONGEST_CHAIN) return { cause: undefined, errors: undefined };
  const { cause } = error;
  const errors = (error as { readonly errors?: unknown }).errors;
  return {
    cause: cause === undefined ? undefined : encode(cause, progress, depth + 1),
    errors: Array.isArray(errors) ? encodeAll(errors, progress, depth + 1) : undefined,
  };
}

function encodeAll(reasons: readonly unknown[], progress: Progress, depth: number): EncodedReason[] {
  const encoded: EncodedReason[] = [];
  for (const reason of reasons) {
    // Also stops at a list that repeats one error.
    if (encoded.length >= MOST_PARTS) break;
    const one = encode(reason, progress, depth);
    if (one !== undefined) encoded.push(one);
    else if (progress.count >= MOST_PARTS) break;
  }
  return encoded;
}

function encodeError(error: Error, { cause, errors }: Parts): EncodedReason {
  return {
    kind: kindOf(error),
    base: baseOf(error),
    name: String(error.name),
    message: String(error.message),
    stack: typeof error.stack === "string" ? error.stack : undefined,
    cause,
    errors,
    own: ownOf(error),
  };
}

function kindOf(error: Error): EncodedReason["kind"] {
  if (error instanceof BatchwiseError) return "batchwise";
  return error instanceof DOMException ? "dom" : "error";
}

/** The nearest class of the language; for another realm's error, its name. */
function baseOf(error: Error): string {
  for (const [name, Base] of Object.entries(BASES)) if (error instanceof Base) return name;
  const { name } = error;
  return Object.prototype.isPrototypeOf.call(Error.prototype, error) || !Object.hasOwn(BASES, name) ? "Error" : name;
}

function ownOf(error: Error): Record<string, unknown> {
  const own: Record<string, unknown> = {};
  for (const key of Object.keys(error)) {
    if (READ_BY_NAME.has(key)) continue;
    const clone = cloneOf((error as unknown as Record<string, unknown>)[key]);
    if (clone !== undefined) own[key] = clone.value;
  }
  return own;
}

/**
 * The clone of a value; undefined if it has none. The clone is sent, because it is plain data: a
 * getter of the value may return something else when it is sent.
 */
export function cloneOf(value: unknown): { readonly value: unknown } | undefined {
  try {
    return { value: structuredClone(value) };
  } catch {
    return undefined;
  }
}

type Decoded = Map<EncodedReason, unknown>;

/** An error that occurred in several places is one object again. */
export function decodeReason(encoded: EncodedReason): unknown {
  return decode(encoded, new Map());
}

function decode(encoded: EncodedReason, known: Decoded): unknown {
  if (encoded.kind === "value") return encoded.own.value;
  if (known.has(encoded)) return known.get(encoded);
  const error = revive(encoded, known);
  known.set(encoded, error);
  if (encoded.stack !== undefined) define(error, "stack", encoded.stack);
  for (const [key, value] of Object.entries(encoded.own)) {
    if (encoded.kind !== "batchwise" || !(key in error)) define(error, key, value, true);
  }
  return error;
}

function revive(encoded: EncodedReason, known: Decoded): Error {
  const { kind, message, name, base, own, errors } = encoded;
  const cause = encoded.cause === undefined ? undefined : decode(encoded.cause, known);
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
  const parts = errors?.map((one) => decode(one, known));
  const error = parts === undefined ? new Base(message, options) : new AggregateError(parts, message, options);
  if (error.name !== name) define(error, "name", name);
  return error;
}

function define(error: Error, key: string, value: unknown, enumerable: boolean = false): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
