// Removes secrets from texts and errors that leave: to `onError`, into the store, to the command
// line. Known secrets (keys, passwords) are replaced anywhere, also inside JSON and addresses.
// Unknown credentials after "Bearer" or "Basic" are replaced too. JSON texts stay JSON. A secret of
// fewer than 12 characters is kept, because it may be an ordinary word. Pure, except that secrets
// are read at each use: keys are rotated.

import { isError } from "../../core/contract/errors.ts";
import { ignoreIfPromise } from "../../core/contract/thenable.ts";
import type { Account } from "../contract/account.ts";
import { isDomException, isHeaders, isRequest, isResponse } from "./headers.ts";

/** The replacement of a secret. */
const BLANK = "[secret]";

const SHORTEST = 12;
const LONGEST_CHAIN = 6;
const MOST_VALUES = 2_000;
/**
 * An unknown key: from a function, or of another service. It must contain a digit, which phrases
 * such as "Bearer authentication" do not.
 */
const CREDENTIALS = /\b(Bearer|Basic)(\s+|%20)(?=[\w.~+/=-]*\d)([\w.~+/=-]{12,})/gi;
/**
 * Start and end of the platform's error for an invalid header value. It quotes the value, raw or as
 * JSON.
 */
const REFUSAL = " is an invalid header value";
const REFUSED = /(Headers\.\w+: (\\?)")(.*)$/s;
const LONGEST_VALUE = 4_000;

export class Secrets {
  readonly #read: () => readonly string[];
  #last: readonly string[] = [];

  /** `read` returns the known secrets; it is called at each use. */
  constructor(read: () => readonly string[]) {
    this.#read = read;
  }

  /** The known secrets. If reading throws or returns no array, the secrets of the last read. */
  known(): readonly string[] {
    try {
      const read: unknown = this.#read();
      if (Array.isArray(read)) this.#last = read.filter((each) => typeof each === "string");
      else ignoreIfPromise(read);
    } catch {
      // Keep the last known secrets.
    }
    return this.#last;
  }

  text(text: string): string {
    return blanked(text, this.#forms());
  }

  /**
   * Returns the value itself if it has no secret, else a cleaned copy of the same class. Also
   * cleans causes and fields. Never throws: an error that cannot be copied becomes its message.
   */
  error(error: unknown): unknown {
    const forms = this.#forms();
    try {
      const blanking = new Redaction(forms);
      return blanking.finds(error) ? blanking.copy(error) : error;
    } catch {
      return new Error(blanked(wordsOf(error), forms));
    }
  }

  /** All forms in which a secret may stand in a text, the longest first. */
  #forms(): readonly string[] {
    const forms = new Set<string>();
    for (const secret of this.known()) {
      for (const form of [secret, secret.trim()]) {
        if (form.length < SHORTEST) continue;
        for (const written of [form, JSON.stringify(form).slice(1, -1), encoded(form)]) forms.add(written);
      }
    }
    return [...forms].sort((one, other) => other.length - one.length);
  }
}

export function secretsOf(account: Account): Secrets {
  return new Secrets(() => account.secrets?.() ?? []);
}

/** Half a surrogate pair cannot be encoded. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

function blanked(text: string, forms: readonly string[]): string {
  let left = text;
  for (const form of forms) if (left.includes(form)) left = left.replaceAll(form, BLANK);
  left = left.replace(CREDENTIALS, (whole, scheme: string, gap: string, value: string) => {
    return scheme.toLowerCase() === "bearer" || isLogin(value) ? scheme + gap + BLANK : whole;
  });
  return withoutRefusedHeaders(left);
}

/** True for a Basic credential (user and password). Other texts contain the word "Basic" too. */
function isLogin(value: string): boolean {
  try {
    return atob(value).includes(":");
  } catch {
    return false;
  }
}

function wordsOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "An error that cannot be read.";
  }
}

/** One pass: a hostile text may have thousands of starts and ends. */
function withoutRefusedHeaders(text: string): string {
  let [left, from] = ["", 0];
  for (let end = text.indexOf(REFUSAL); end >= 0; end = text.indexOf(REFUSAL, end + 1)) {
    const before = text.slice(Math.max(from, end - LONGEST_VALUE), end);
    const [, opening = "", slash = "", rest = ""] = REFUSED.exec(before) ?? [];
    const closing = `${slash}"`;
    const value = rest.slice(0, -closing.length);
    // A quote inside the value would end the JSON string.
    const isWhole = opening !== "" && rest.endsWith(closing) && (slash === "" || /^(?:[^"\\]|\\.)*$/s.test(value));
    if (!isWhole) continue;
    left += text.slice(from, end - rest.length) + BLANK;
    from = end - closing.length;
  }
  return left + text.slice(from);
}

/** Copies the values of one error, each once, to a limited depth. */
class Redaction {
  readonly #forms: readonly string[];
  readonly #copies: Map<object, object> = new Map();

  constructor(forms: readonly string[]) {
    this.#forms = forms;
  }

  /** True if the value contains a secret. */
  finds(value: unknown, depth: number = 0, seen: Set<object> = new Set()): boolean {
    if (typeof value === "string") return blanked(value, this.#forms) !== value;
    if (typeof value !== "object" || value === null || seen.has(value)) return false;
    if (depth > LONGEST_CHAIN) return false;
    // Unchecked values may hold a secret.
    if (seen.size >= MOST_VALUES) return true;
    seen.add(value);
    const held = isHeaders(value) ? [...value].flat() : namesOf(value).map((name) => Reflect.get(value, name));
    if (isRequest(value) || isResponse(value)) held.push(value.headers, value.url);
    if (isDomException(value)) held.push(value.message);
    return held.some((each) => this.finds(each, depth + 1, seen));
  }

  copy(value: unknown, depth: number = 0): unknown {
    if (typeof value === "string") return blanked(value, this.#forms);
    if (typeof value !== "object" || value === null || depth > LONGEST_CHAIN) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    // Objects of other classes have internal state: keep them unless they contain a secret.
    if (!isPlain(value) && !this.finds(value)) return value;
    if (isDomException(value)) return new DOMException(blanked(value.message, this.#forms), value.name);
    if (isHeaders(value)) {
      return new Headers([...value].map(([name, text]) => [name, blanked(text, this.#forms)]));
    }
    // These cannot be copied in part.
    if (isRequest(value) || isResponse(value))
      return { url: blanked(value.url, this.#forms), headers: this.copy(value.headers, depth) };
    const copy: object = Array.isArray(value) ? [] : isError(value) ? new Error() : {};
    this.#copies.set(value, copy);
    if (!Array.isArray(value)) Object.setPrototypeOf(copy, Object.getPrototypeOf(value));
    for (const name of namesOf(value)) {
      const enumerable = Object.getOwnPropertyDescriptor(value, name)?.enumerable === true;
      const held = this.copy(Reflect.get(value, name), depth + 1);
      Object.defineProperty(copy, name, { value: held, enumerable, writable: true, configurable: true });
    }
    return copy;
  }
}

/** The fields with a value. In some Node.js versions an error's stack is a getter. */
function namesOf(value: object): string[] {
  const names = Object.getOwnPropertyNames(value).filter((name) => {
    return (
      !(Array.isArray(value) && name === "length") && "value" in (Object.getOwnPropertyDescriptor(value, name) ?? {})
    );
  });
  return isError(value) && !names.includes("stack") ? [...names, "stack"] : names;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
