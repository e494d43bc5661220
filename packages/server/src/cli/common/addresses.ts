// Addresses that the user gives, taken apart by their parts: scheme, user, password, the rest. A
// password that was not encoded may have any character in it, an @ and a slash too, so it goes to
// the last @. Pure.

export interface Address {
  /** In small letters: "postgres". */
  readonly scheme: string;
  readonly user: string;
  /** As it stands there; null where there is none. */
  readonly password: string | null;
  /** Host, path and query. */
  readonly rest: string;
}

const SCHEME = /^[a-z][\w+.-]*$/i;
const SECRET_FIELD = /pass|secret|token|key/i;

/** null for a text without "://" behind a scheme. */
export function addressOf(text: string): Address | null {
  const end = text.indexOf("://");
  const scheme = text.slice(0, Math.max(end, 0));
  if (!SCHEME.test(scheme)) return null;
  const after = text.slice(end + "://".length);
  const at = after.lastIndexOf("@");
  const [credentials, rest] = at < 0 ? ["", after] : [after.slice(0, at), after.slice(at + 1)];
  const colon = credentials.indexOf(":");
  const [user, password] =
    colon < 0 ? [credentials, null] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
  return { scheme: scheme.toLowerCase(), user, password, rest };
}

/**
 * An address, or a word of the command line that ends with one (`--store=…`), as it may be shown.
 * Other texts stay.
 */
export function withoutPassword(text: string): string {
  const [before, word] = wordIn(text);
  const address = addressOf(word);
  if (address === null) return text;
  const { scheme, user, password, rest } = address;
  const credentials = password !== null ? `${user}:…@` : user === "" ? "" : `${user}@`;
  return `${before}${scheme}://${credentials}${withoutSecretFields(rest)}`;
}

/**
 * The passwords of an address, or of a word that ends with one: as they stand there, and decoded.
 */
export function passwordsOf(text: string): string[] {
  const address = addressOf(wordIn(text)[1]);
  if (address === null) return [];
  const inQuery = fieldsOf(address.rest).filter(([name]) => SECRET_FIELD.test(name));
  const written = [address.password ?? "", ...inQuery.map(([, value]) => value)];
  return written.filter((one) => one !== "").flatMap((one) => [one, decoded(one)]);
}

/** The address without `schema` in its query, and the value of that; null where it has none. */
export function splitSchema(address: string): readonly [address: string, schema: string | null] {
  let schema: string | null = null;
  const { rest = "" } = addressOf(address) ?? {};
  const shorter = rest.replace(/([?&])(schema=[^&#]*)(&?)/, (_, before: string, field: string, after: string) => {
    schema = new URLSearchParams(field).get("schema") || null;
    return after === "" ? "" : before;
  });
  return [address.slice(0, address.length - rest.length) + shorter, schema];
}

/** What stands before the address, and the address. */
function wordIn(text: string): readonly [before: string, word: string] {
  const equals = text.startsWith("--") ? text.indexOf("=") + 1 : 0;
  return [text.slice(0, equals), text.slice(equals)];
}

function fieldsOf(rest: string): [name: string, value: string][] {
  const query = rest.includes("?") ? rest.slice(rest.indexOf("?") + 1).split("#", 1) : [];
  return query
    .flatMap((each) => each.split("&"))
    .map((field) => {
      const equals = field.indexOf("=");
      return equals < 0 ? [field, ""] : [field.slice(0, equals), field.slice(equals + 1)];
    });
}

function withoutSecretFields(rest: string): string {
  let shown = rest;
  for (const [name, value] of fieldsOf(rest)) {
    if (value !== "" && SECRET_FIELD.test(name)) shown = shown.replace(`${name}=${value}`, () => `${name}=…`);
  }
  return shown;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
