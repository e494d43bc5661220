// Handles addresses with credentials, such as `https://user:password@host`. The platform's parser
// reads them; a text that it cannot parse is never quoted. Pure.

import { aString, check, invalidOption } from "../../core/contract/validate.ts";

/** The address's password, raw and decoded, and both in Basic authorization form. */
export function secretsOfAddress(address: string | null): string[] {
  if (address === null || !URL.canParse(address)) return [];
  const { username, password } = new URL(address);
  if (password === "") return [];
  const [user, plain] = [decoded(username), decoded(password)];
  return [password, plain, base64(`${user}:${plain}`)];
}

/** True if the address has a user or a password. */
function hasCredentials(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, password } = new URL(address);
  return username !== "" || password !== "";
}

/**
 * Throws unless the text is an http or https address without credentials, which `fetch` refuses.
 * Quotes none of it. `instead`: where to put credentials, for the message.
 */
export function checkAddress(name: string, address: unknown, instead: string): void {
  check(name, aString, address);
  const text = address as string;
  const wanted = `Expected \`${name}\` to be an http or https address`;
  if (!URL.canParse(text)) throw invalidOption(RangeError, `${wanted}, got a text that is none`);
  if (hasCredentials(text)) {
    throw invalidOption(RangeError, `${wanted} without a user and a password, got one with them: ${instead}`);
  }
  const { protocol } = new URL(text);
  if (!/^https?:$/.test(protocol)) throw invalidOption(RangeError, `${wanted}, got one of "${protocol}"`);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
