// Entries before the queue: in a cache look-up, or with a pending `prepareItem`. They neither wait
// nor run. Their deadlines and signals apply, and `close()` includes them. An entry stops being
// pending when its last caller leaves, even if the look-up or preparation continues.

import type { Entry, EntryHolder, Urgency } from "../queue/entry.ts";

/**
 * Takes an entry's next step without the awaited result; null if there is none. Also identifies the
 * step of an entry.
 */
export type Skip = (() => void) | null;

export class Pending implements EntryHolder {
  #entries: Map<Entry, Skip> | null = null;

  /** They have not started to run. */
  get isWaiting(): boolean {
    return true;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  get all(): Entry[] {
    return [...(this.#entries?.keys() ?? [])];
  }

  start(entry: Entry, skip: Skip): void {
    entry.holder = this;
    this.#entries ??= new Map();
    this.#entries.set(entry, skip);
  }

  has(entry: Entry): boolean {
    return this.#entries?.has(entry) ?? false;
  }

  /** Ends a step; false if it had ended. */
  end(entry: Entry, skip: Skip): boolean {
    if (this.#entries?.get(entry) !== skip) return false;
    this.left(entry);
    return true;
  }

  /** Its last caller has left. */
  left(entry: Entry): void {
    this.#entries?.delete(entry);
    entry.holder = null;
  }

  update(entry: Entry, joined: Urgency): void {
    entry.raise(joined);
  }

  skip(entry: Entry): void {
    this.#entries?.get(entry)?.();
  }

  /** Lets all entries continue that can. */
  skipAll(): void {
    for (const entry of this.all) this.skip(entry);
  }

  /** Removes and returns all entries. */
  clear(): Entry[] {
    const { all } = this;
    for (const entry of all) this.left(entry);
    return all;
  }
}
