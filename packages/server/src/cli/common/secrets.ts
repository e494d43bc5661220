// Removes secrets from all output on standard error: keys of providers and passwords of addresses,
// found in the arguments and the environment. A value of fewer than 12 characters may be a word,
// and is not removed.

import { passwordsOf } from "./addresses.ts";

const SHORTEST = 12;
/** Matches the names of variables with a key, a token or a password. */
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
  // A stack is printed line by line, so a key with a line break is spread over two lines.
  const values = named.flatMap(([, value = ""]) => [value, ...value.split("\n").map((line) => line.trim())]);
  const addresses = [...words, ...Object.values(environment).map((value = "") => value)];
  const known = new Set([...values, ...addresses.flatMap(passwordsOf)]);
  return [...known].filter(({ length }) => length >= SHORTEST).sort((one, other) => other.length - one.length);
}
