// Reads a provider's error from any of its places: in `error` (OpenAI), at the top level (vLLM,
// Mistral), in `detail` (FastAPI), or as plain text. Trusts no type. Pure.

import type { OutcomeError } from "../contract/types.ts";

export interface ErrorWords {
  /** The error's code, or its type if the code is a number. */
  readonly code: string | null;
  readonly message: string | null;
}

type Fields = { readonly [name: string]: unknown };

const NONE: ErrorWords = { code: null, message: null };

/**
 * The code and message of an error, or of a body that holds one. Both are null if it is nested too
 * deeply.
 */
export function errorIn(given: unknown): ErrorWords {
  try {
    return wordsIn(given);
  } catch {
    return NONE;
  }
}

function wordsIn(given: unknown): ErrorWords {
  if (typeof given === "string") return { code: null, message: text(given) };
  const own = fieldsOf(given);
  const inner = own.error === undefined ? NONE : wordsIn(own.error);
  return { code: inner.code ?? codeOf(own), message: inner.message ?? messageOf(own) };
}

/** The error of a non-2xx answer. */
export function statusError(statusCode: number, body: unknown): OutcomeError {
  const { code, message } = errorIn(body);
  return { code: code ?? `http_${statusCode}`, message: message ?? `The provider answered ${statusCode}.` };
}

/** Prefers the error type over a numeric code, which only repeats the HTTP status. */
function codeOf({ code, type }: Fields): string | null {
  const number = Number(code);
  const isNumber = (typeof code === "number" || text(code) !== null) && Number.isInteger(number);
  if (!isNumber) return text(code) ?? text(type);
  return text(type) ?? (number >= 100 && number < 600 ? null : String(code));
}

function messageOf({ message, detail }: Fields): string | null {
  const details = detail ?? fieldsOf(message).detail;
  if (Array.isArray(details)) return details.map(detailOf).join("; ");
  return text(message) ?? text(details);
}

function detailOf(detail: unknown): string {
  const { loc, msg } = fieldsOf(detail);
  const place = Array.isArray(loc) ? `${loc.join(".")}: ` : "";
  return `${place}${text(msg) ?? JSON.stringify(detail)}`;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
