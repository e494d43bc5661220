// Blanks what is secret in texts and errors on their way out: to `onError`, into the store, to the
// command line. Known secrets (keys, passwords) are replaced wherever they stand, also in JSON and
// in addresses; what follows "Bearer" or "Basic" is replaced although it is not known. Texts may be
// JSON and stay so. Pure, but for reading the secrets anew at each use: keys are rotated. A secret
// of fewer than 12 characters stays, because it may be a word of any text.

import type { Account } from "../contract/account.ts";

/** What stands in the place of a secret. */
const BLANK = "[secret]";

const SHORTEST = 12;
const LONGEST_CHAIN = 6;
const MOST_VALUES = 2_000;
/**
 * A key that is not known: one from a function, or of another service. Words such as "Bearer
 * authentication" have no digit.
 */
const CREDENTIALS = /\b(Bearer|Basic)(\s+|%20)(?=[\w.~+/=-]*\d)([\w.~+/=-]{12,})/gi;
/**
 * How the platform begins and ends to tell of a header that it refuses, with its value between: as
 * it is, or in JSON.
 */
const REFUSAL = " is an invalid header value";
const REFUSED = /(Headers\.\w+: (\\?)")(.*)$/s;
const LONGEST_VALUE = 4_000;

export class Secrets {
  readonly #read: () => readonly string[];
  #last: readonly string[] = [];

  /** `read` is called at each use. */
  constructor(read: () => readonly string[]) {
    this.#read = read;
  }

  /** Those that were read last, where reading them throws. */
  known(): readonly string[] {
    try {
      this.#last = this.#read();
    } catch {
      // What was known stays secret.
    }
    return this.#last;
  }

  text(text: string): string {
    return blanked(text, this.#forms());
  }

  /**
   * The same value where nothing in it is secret; else a copy of the same class. Texts in causes
   * and fields are blanked too. Never throws: of an error that cannot be copied, its words are
   * left.
   */
  error(error: unknown): unknown {
    const forms = this.#forms();
    try {
      const blanking = new Blanking(forms);
      return blanking.finds(error) ? blanking.copy(error) : error;
    } catch {
      return new Error(blanked(wordsOf(error), forms));
    }
  }

  /** Each form in which a secret may stand in a text, the longest first. */
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

/** Half of a surrogate pair cannot be encoded. */
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

/** True for a name and a password as "Basic" has them: the word stands in other texts, too. */
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

/** In one pass: a hostile text may have thousands of beginnings and ends. */
function withoutRefusedHeaders(text: string): string {
  let [left, from] = ["", 0];
  for (let end = text.indexOf(REFUSAL); end >= 0; end = text.indexOf(REFUSAL, end + 1)) {
    const before = text.slice(Math.max(from, end - LONGEST_VALUE), end);
    const [, opening = "", slash = "", rest = ""] = REFUSED.exec(before) ?? [];
    const closing = `${slash}"`;
    const value = rest.slice(0, -closing.length);
    // A quote of its own would end the text in the JSON.
    const isWhole = opening !== "" && rest.endsWith(closing) && (slash === "" || /^(?:[^"\\]|\\.)*$/s.test(value));
    if (!isWhole) continue;
    left += text.slice(from, end - rest.length) + BLANK;
    from = end - closing.length;
  }
  return left + text.slice(from);
}

/** Copies the values of one error, each once, to a depth that errors of clients have. */
class Blanking {
  readonly #forms: readonly string[];
  readonly #copies: Map<object, object> = new Map();

  constructor(forms: readonly string[]) {
    this.#forms = forms;
  }

  /** True where something would be blanked. */
  finds(value: unknown, depth: number = 0, seen: Set<object> = new Set()): boolean {
    if (typeof value === "string") return blanked(value, this.#forms) !== value;
    if (typeof value !== "object" || value === null || seen.has(value)) return false;
    if (depth > LONGEST_CHAIN) return false;
    // What is not looked at may hold a secret.
    if (seen.size >= MOST_VALUES) return true;
    seen.add(value);
    const held = value instanceof Headers ? [...value].flat() : namesOf(value).map((name) => Reflect.get(value, name));
    if (isOfFetch(value)) held.push(value.headers, value.url);
    return held.some((each) => this.finds(each, depth + 1, seen));
  }

  copy(value: unknown, depth: number = 0): unknown {
    if (typeof value === "string") return blanked(value, this.#forms);
    if (typeof value !== "object" || value === null || depth > LONGEST_CHAIN) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    // Objects of other classes have more than their fields: they stay, unless they have to be taken
    // apart.
    if (!isPlain(value) && !this.finds(value)) return value;
    if (value instanceof DOMException) return new DOMException(blanked(value.message, this.#forms), value.name);
    if (value instanceof Headers) {
      return new Headers([...value].map(([name, text]) => [name, blanked(text, this.#forms)]));
    }
    if (isOfFetch(value)) return { url: blanked(value.url, this.#forms), headers: this.copy(value.headers, depth) };
    const copy: object = Array.isArray(value) ? [] : value instanceof Error ? new Error() : {};
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

/**
 * The fields that hold something. The stack of an error is read by a function in some versions of
 * Node.js.
 */
function namesOf(value: object): string[] {
  const names = Object.getOwnPropertyNames(value).filter((name) => {
    return (
      !(Array.isArray(value) && name === "length") && "value" in (Object.getOwnPropertyDescriptor(value, name) ?? {})
    );
  });
  return value instanceof Error && !names.includes("stack") ? [...names, "stack"] : names;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** These cannot be copied in part. */
function isOfFetch(value: object): value is Request | Response {
  return value instanceof Request || value instanceof Response;
}
