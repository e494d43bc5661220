// What the command knows of secrets, by its arguments and its environment: keys of providers,
// passwords of addresses. All that it says on standard error is written without them; one of fewer
// than 12 characters may be a word, and stays.

import { passwordsOf } from "./addresses.ts";

const SHORTEST = 12;
/** Variables with a key, a token or a password, by the ends of their names. */
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PGPASSWORD)$/i;

export function withoutSecrets(
  text: string,
  environment: NodeJS.ProcessEnv = process.env,
  words: readonly string[] = process.argv.slice(2),
): string {
  let shown = text;
  for (const secret of secretsOf(environment, words)) shown = shown.replaceAll(secret, "[secret]");
  return shown;
}

function secretsOf(environment: NodeJS.ProcessEnv, words: readonly string[]): string[] {
  const named = Object.entries(environment).filter(([name]) => SECRET_NAME.test(name));
  // A stack is printed line by line, and a key with a line break stands on two of them.
  const values = named.flatMap(([, value = ""]) => [value, ...value.split("\n").map((line) => line.trim())]);
  const addresses = [...words, ...Object.values(environment).map((value = "") => value)];
  const known = new Set([...values, ...addresses.flatMap(passwordsOf)]);
  return [...known].filter(({ length }) => length >= SHORTEST).sort((one, other) => other.length - one.length);
}
