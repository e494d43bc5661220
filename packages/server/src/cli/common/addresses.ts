// Splits addresses that the user gives: scheme, user, password, the rest. An unencoded password may
// contain any character, including @ and slash, so it extends to the last @. Pure functions.

export interface Address {
  /** In lower case, for example "postgres". */
  readonly scheme: string;
  readonly user: string;
  /** As written; null if there is none. */
  readonly password: string | null;
  /** Host, path and query. */
  readonly rest: string;
}

const SCHEME = /^[a-z][\w+.-]*$/i;
const SECRET_FIELD = /pass|secret|token|key/i;

/** null for a text without "://" after a scheme. */
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
 * An address, or a word of the command line that ends with one (`--store=…`), with its password
 * hidden. Other texts are not changed.
 */
export function withoutPassword(text: string): string {
  const [before, word] = wordIn(text);
  const address = addressOf(word);
  if (address === null) return text;
  const { scheme, user, password, rest } = address;
  const credentials = password !== null ? `${user}:…@` : user === "" ? "" : `${user}@`;
  return `${before}${scheme}://${credentials}${withoutSecretFields(rest)}`;
}

/** The passwords of an address, or of a word that ends with one: as written, and decoded. */
export function passwordsOf(text: string): string[] {
  const address = addressOf(wordIn(text)[1]);
  if (address === null) return [];
  const inQuery = fieldsOf(address.rest).filter(([name]) => SECRET_FIELD.test(name));
  const written = [address.password ?? "", ...inQuery.map(([, value]) => value)];
  return written.filter((one) => one !== "").flatMap((one) => [one, decoded(one)]);
}

/** The address without `schema` in its query, and that parameter's value, null if there is none. */
export function splitSchema(address: string): readonly [address: string, schema: string | null] {
  let schema: string | null = null;
  const { rest = "" } = addressOf(address) ?? {};
  const shorter = rest.replace(/([?&])(schema=[^&#]*)(&?)/, (_, before: string, field: string, after: string) => {
    schema = new URLSearchParams(field).get("schema") || null;
    return after === "" ? "" : before;
  });
  return [address.slice(0, address.length - rest.length) + shorter, schema];
}

/** The text before the address, and the address. */
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
