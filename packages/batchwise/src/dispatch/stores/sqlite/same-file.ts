// Checks that the connection's files are still the named ones. SQLite does not notice that its
// file, or the `-wal` beside it, was removed or replaced: it continues in nameless files, and all
// commits there are lost when the process ends. Only looks up names: opening and closing the file
// would drop SQLite's own locks.

import { realpathSync, statSync } from "node:fs";
import { DispatchError } from "../../contract/errors.ts";

export class SameFile {
  readonly #path: string;
  readonly #identities: Map<string, string> = new Map();

  /** Create it as soon as the file is open. */
  constructor(path: string) {
    // SQLite puts the `-wal` beside the target of a link.
    this.#path = realpathSync(path);
    this.#checkOne(this.#path);
  }

  /**
   * Call once tables exist. Throws STORE_DAMAGED if a file of an earlier check was removed or
   * replaced.
   */
  check(): void {
    this.#checkOne(this.#path);
    this.#checkOne(`${this.#path}-wal`);
  }

  #checkOne(path: string): void {
    const found = identityOf(path);
    const known = this.#identities.get(path);
    if (known === found) return;
    if (known === undefined && found !== null) {
      this.#identities.set(path, found);
      return;
    }
    if (known === undefined) return;
    const what = `The file ${path} was ${found === null ? "removed" : "replaced"} while this process had it open`;
    const ways =
      "This call and what this process wrote since then are not in it. Put it back, and start the process anew.";
    throw new DispatchError("STORE_DAMAGED", `${what}. ${ways}`);
  }
}

/** Device and inode; null if the file does not exist. */
function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
