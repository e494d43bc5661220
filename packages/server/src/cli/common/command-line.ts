// Command lines to show to the user, who can run them as printed. They contain no passwords.

import { withoutPassword } from "./addresses.ts";
import { DEFAULT_STORE } from "./arguments.ts";

/** The command that this process was started with. */
export function thisCommand(): string {
  return ["batchwise", ...process.argv.slice(2).map((word) => quoted(withoutPassword(word)))].join(" ");
}

/** ` --store …`, or "" if commands find the store without it. */
export function storeFlag(store: string): string {
  const isFound = store === (process.env.BATCHWISE_STORE ?? DEFAULT_STORE);
  return isFound ? "" : ` --store ${quoted(withoutPassword(store))}`;
}

/** Quotes a word for a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
