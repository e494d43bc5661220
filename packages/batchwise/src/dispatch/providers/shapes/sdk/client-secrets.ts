// Reads the keys and passwords of an official client, by shape. Never caches them: a client's key
// may change. Refuses a key that no header can contain, without quoting it.

import { invalidOption } from "../../../../core/contract/validate.ts";
import { secretsOfAddress } from "../../../format/address.ts";
import { isHeaders } from "../../../format/headers.ts";
import { objectOf, text } from "./sdk-error.ts";

/** A valid header value without surrounding spaces. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const SECRET_HEADER = /authorization|key|token|secret|cookie|password/i;

/** The client's current secrets. */
export function secretsOfClient(client: unknown): string[] {
  const own = objectOf(client);
  const options = objectOf(own._options);
  const google = objectOf(objectOf(own.apiClient).clientOptions);
  const { credentials } = objectOf(objectOf(objectOf(google.auth).googleAuth).cachedCredential);
  const texts = [own.webhookSecret, own.webhookKey, objectOf(credentials).access_token];
  const addresses = [own.baseURL, own._baseURL, options.serverURL, objectOf(google.httpOptions).baseUrl];
  return [
    ...keysOf(client),
    ...texts.map(text).filter((each) => each !== null),
    ...secretsInHeaders(options.defaultHeaders),
    ...secretsInHeaders(objectOf(google.httpOptions).headers),
    ...addresses.flatMap((address) => secretsOfAddress(text(objectOf(address).href) ?? text(address))),
  ];
}

/**
 * Keys that the client sends as headers. Keys from a function are unknown, unless the client keeps
 * them.
 */
function keysOf(client: unknown): string[] {
  const own = objectOf(client);
  const google = objectOf(objectOf(own.apiClient).clientOptions);
  const values = [own.apiKey, own.authToken, own.adminAPIKey, objectOf(own._options).apiKey, google.apiKey];
  return values.map(text).filter((each) => each !== null);
}

/** Values of secret headers, also without a scheme such as "Bearer". */
export function secretsInHeaders(headers: unknown): string[] {
  const entries: [string, unknown][] = isHeaders(headers) ? [...headers] : Object.entries(objectOf(headers));
  const values = entries.filter(([name]) => SECRET_HEADER.test(name)).map(([, value]) => text(value));
  return values.filter((value) => value !== null).flatMap((value) => [value, value.replace(/^\S+\s+/, "")]);
}

/** Throws INVALID_OPTION for a client with a key that no header can contain. */
export function checkClientKeys(client: unknown): void {
  for (const key of keysOf(client)) checkKey("the key of `client`", key);
}

/** `what`: such as "the key of `client`". */
export function checkKey(what: string, key: string): void {
  if (HEADER_VALUE.test(key.trim())) return;
  const got = "one with a line break or another character that no header may have. Copy the key again";
  throw invalidOption(TypeError, `Expected ${what} to be the value of a header, got ${got}`);
}
