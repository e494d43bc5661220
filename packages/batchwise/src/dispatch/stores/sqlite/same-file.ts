// Whether the files of a database are still those that the connection holds. SQLite does not notice
// that its file, or the `-wal` beside it, was removed or replaced: it goes on in files that have no
// name, and all that it has committed there is gone when the process ends. Only names are looked
// up: to open a file and close it again drops SQLite's own locks.

import { realpathSync, statSync } from "node:fs";
import { DispatchError } from "../../contract/errors.ts";

export class SameFile {
  readonly #path: string;
  readonly #identities: Map<string, string> = new Map();

  /** To be made as soon as the file is open. */
  constructor(path: string) {
    // SQLite puts the `-wal` beside the file that a link leads to.
    this.#path = realpathSync(path);
    this.#checkOne(this.#path);
  }

  /**
   * To be called once tables are there. Throws STORE_DAMAGED where a file of an earlier look was
   * removed or replaced.
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

/** Device and inode; null where there is no such file. */
function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
