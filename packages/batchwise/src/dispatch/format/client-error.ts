// Reads the errors of official clients: the HTTP status, and the messages of the error and its
// causes. A message such as "Connection error." lacks the host and code; the innermost cause has
// them. Pure, except that it reads the platform's proxy settings.

import { isError } from "../../core/contract/errors.ts";
import { DispatchError } from "../contract/errors.ts";
import { proxyHint, thisPlatform } from "./proxy-hint.ts";

const LONGEST_CHAIN = 8;

/** Code of a call that the platform refused because a header value has an invalid character. */
export const BAD_HEADER = "invalid_header";

/** Code of a success that is no answer of the service: the page of a proxy, for example. */
export const NOT_JSON = "not_json";

/**
 * The HTTP status of an error, which clients keep in different places. null if there was no answer.
 */
export function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { status, statusCode, code, $metadata } = error as Answered;
  const given = [status, statusCode, $metadata?.httpStatusCode, code].find((value) => typeof value === "number");
  return typeof given === "number" ? given : null;
}

interface Answered {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown } | null;
}

/** Fields of platform errors besides the message. */
interface PlatformError {
  readonly message?: unknown;
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  /** One error for each address of a host name. */
  readonly errors?: unknown;
  readonly hostname?: unknown;
  readonly address?: unknown;
  readonly socket?: { readonly remoteAddress?: unknown; readonly remotePort?: unknown } | null;
}

/**
 * The error's message, and the messages of causes that add something: "Connection error: fetch
 * failed: connect ECONNREFUSED 127.0.0.1:1". For a failed connection also the code, and advice for
 * the commonest reasons.
 */
export function wordsOf(error: unknown): string {
  const chain = chainOf(error);
  const words: string[] = [];
  for (const each of chain) {
    const message = messageOf(each);
    if (!words.some((known) => known.includes(message))) words.push(message.replace(/[.:]$/, ""));
  }
  const said = words.join(": ");
  const innermost = chain.at(-1);
  return isOfConnection(innermost) && statusOf(error) === null ? said + besides(innermost, said) : said;
}

/**
 * The error itself. For a failed connection, a copy whose message ends with the innermost cause.
 */
export function withInnermostCause(error: unknown): unknown {
  if (!isError(error) || statusOf(error) !== null) return error;
  const innermost = chainOf(error).at(-1);
  if (!isOfConnection(innermost)) return error;
  const words = wordsOf(error);
  const isSaid = error.message.includes(messageOf(innermost) + besides(innermost, error.message));
  return isSaid || words.length <= error.message.length ? error : retold(error, words);
}

/** The message of a user function's error, unchanged unless a connection failed. */
export function messageIn(error: unknown): string {
  const told = withInnermostCause(error);
  return isError(told) ? told.message : String(told);
}

function retold(error: Error, message: string): Error {
  const copy = new Error(message);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  const { stack: _stack, message: _message, ...fields } = Object.getOwnPropertyDescriptors(error);
  Object.defineProperties(copy, fields);
  const stack = error.stack?.replace(error.message, () => message);
  Object.defineProperty(copy, "stack", { value: stack, writable: true, configurable: true });
  return copy;
}

const UNREADABLE = "Something was thrown that cannot be read.";

/**
 * A value thrown by a user function, account or store. If reading it throws, returns a plain error
 * instead, so that later code can read it safely.
 */
export function readable(thrown: unknown): unknown {
  if (canBeRead(thrown)) return thrown;
  try {
    return new Error(isError(thrown) ? thrown.message : UNREADABLE);
  } catch {
    return new Error(UNREADABLE);
  }
}

function canBeRead(thrown: unknown): boolean {
  try {
    for (const each of chainOf(thrown)) messageOf(each).concat(String(each));
    return true;
  } catch {
    return false;
  }
}

/** The error and its causes, the innermost last. */
function chainOf(error: unknown): unknown[] {
  const chain = [error];
  for (let at = causeOf(error); at !== null && chain.length < LONGEST_CHAIN; at = causeOf(at)) chain.push(at);
  return chain;
}

function causeOf(error: unknown): object | null {
  const { cause } = Object(error) as PlatformError;
  return typeof cause === "object" && cause !== null ? cause : null;
}

/**
 * The message. An error for several addresses has none, so the messages of the addresses are
 * joined.
 */
function messageOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const { message, errors, code, name } = error as PlatformError;
  if (typeof message === "string" && message !== "") return message;
  const each = Array.isArray(errors) ? errors.map((one) => messageOf(one)) : [];
  if (each.length > 0) return [...new Set(each)].join(", ");
  return typeof code === "string" ? code : typeof name === "string" && name !== "" ? name : String(error);
}

const CONNECTION = /^(?:E[A-Z_]+\d*|UND_ERR_.+|ERR_(?:SSL|TLS)_.+)$/;
/**
 * Codes for an unknown certificate authority: SELF_SIGNED_CERT_IN_CHAIN,
 * UNABLE_TO_GET_ISSUER_CERT_LOCALLY, …
 */
const CERTIFICATE = /^(?:SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY))/;

/** True for an error of the system, the platform's `fetch` or TLS. */
function isOfConnection(error: unknown): error is PlatformError {
  const { code } = Object(error) as PlatformError;
  return typeof code === "string" && (CONNECTION.test(code) || CERTIFICATE.test(code));
}

/** Platform codes for a wrong call, such as ERR_INVALID_ARG_TYPE. */
const OF_A_CALL = /^ERR_(?!HTTP2|SOCKET|SSL|STREAM|TLS)/;

/** True for a failed connection, in an error of any client. */
export function isConnectionError(error: unknown): boolean {
  const innermost = chainOf(error).at(-1);
  return statusOf(error) === null && isOfConnection(innermost) && !OF_A_CALL.test(String(innermost.code));
}

/**
 * Messages of JavaScript engines for a mistake. `fetch` also throws a TypeError without a network.
 */
const MISTAKE =
  /^Cannot (?!convert argument)|^Assignment to constant|^Converting circular|^Do not know how to serialize| is not (?:a function|a constructor|an object|iterable|async iterable|defined)\b/;

/** True for a programming mistake, such as reading a field of undefined: a retry fails too. */
export function isMistake(error: unknown): boolean {
  const innermost = chainOf(error).at(-1);
  if (!isError(innermost) || "code" in innermost || statusOf(error) !== null) return false;
  if (isOf(ReferenceError, innermost) || isOf(RangeError, innermost)) return true;
  return isOf(TypeError, innermost) && MISTAKE.test(innermost.message);
}

/** True for text that could not be parsed, such as JSON that was cut, by this code or a client. */
export function isSyntaxError(error: unknown): boolean {
  return isError(error) && isOf(SyntaxError, error);
}

/** True for an instance of `Kind`, or of the class of that name in another realm. */
function isOf(Kind: ErrorConstructor, error: Error): boolean {
  return error.name === Kind.name || error instanceof Kind;
}

/** True if the error or one of its causes is the store's. */
export function isStoreError(error: unknown): boolean {
  return chainOf(error).some((each) => each instanceof DispatchError && each.code.startsWith("STORE_"));
}

const NO_DESCRIPTOR: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);
/** Codes of a host that cannot be reached, possibly because only a proxy leaves the network. */
const UNREACHED: ReadonlySet<unknown> = new Set([
  ...["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Details that the message lacks: code, address and advice. */
function besides(innermost: PlatformError, said: string): string {
  const { code, socket } = innermost;
  const place = typeof socket?.remoteAddress === "string" ? `${socket.remoteAddress}:${socket.remotePort}` : null;
  const missing = [String(code), place].filter((each) => each !== null && !said.includes(each));
  const hint = hintOf(innermost);
  return `${missing.length === 0 ? "" : ` (${missing.join(", ")})`}${hint === null ? "" : `; ${hint}`}`;
}

function hintOf(innermost: PlatformError): string | null {
  const { code } = innermost;
  if (NO_DESCRIPTOR.has(code)) return "this process has no file descriptor left: raise its limit (`ulimit -n`)";
  if (CERTIFICATE.test(String(code))) return "NODE_EXTRA_CA_CERTS names a file with further authorities";
  return UNREACHED.has(code) ? proxyHint(hostOf(innermost), thisPlatform()) : null;
}

function hostOf({ hostname, address, errors, message }: PlatformError): string | null {
  if (typeof hostname === "string") return hostname;
  if (typeof address === "string") return address;
  const [, attempted] = /attempted address(?:es)?: \[?([^\s,:]+)/.exec(String(message)) ?? [];
  if (attempted !== undefined) return attempted;
  return Array.isArray(errors) && errors.length > 0 ? hostOf(Object(errors[0]) as PlatformError) : null;
}
