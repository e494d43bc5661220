// Command lines that are shown to the user, to be typed as they are. Passwords are left out of
// them.

import { withoutPassword } from "./addresses.ts";
import { DEFAULT_STORE } from "./arguments.ts";

/** The command that this process was started with. */
export function thisCommand(): string {
  return ["batchwise", ...process.argv.slice(2).map((word) => quoted(withoutPassword(word)))].join(" ");
}

/** ` --store …`, or nothing where commands find it without. */
export function storeFlag(store: string): string {
  const isFound = store === (process.env.BATCHWISE_STORE ?? DEFAULT_STORE);
  return isFound ? "" : ` --store ${quoted(withoutPassword(store))}`;
}

/** For a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
