// Entries on their way into the queue: looked up in the cache, or prepared by a `prepareItem` that
// returned a promise. They neither wait nor run yet. Their callers' deadlines and signals run, and
// `close()` does not forget them. One whose last caller has left is pending no longer, whatever
// becomes of its look-up or its preparation.

import type { Entry, EntryHolder } from "../queue/entry.ts";

/**
 * Called when an entry needs to be pending no longer: it takes its next step without what it was
 * waiting for.
 */
export type Skip = () => void;

export class Pending implements EntryHolder {
  /** They have not begun to run. */
  readonly isWaiting = true;
  #entries: Map<Entry, Skip | null> | null = null;

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** `skip`: null where there is no way on without what it waits for. */
  start(entry: Entry, skip: Skip | null): void {
    entry.holder = this;
    this.#entries ??= new Map();
    this.#entries.set(entry, skip);
  }

  has(entry: Entry): boolean {
    return this.#entries?.has(entry) ?? false;
  }

  /** Ends it; false where it has ended already. */
  end(entry: Entry): boolean {
    if (!this.#entries?.delete(entry)) return false;
    entry.holder = null;
    return true;
  }

  /** Its last caller has left: nobody needs what it waits for. */
  left(entry: Entry): void {
    this.end(entry);
  }

  raise(entry: Entry, priority: number): void {
    if (priority > entry.priority) entry.priority = priority;
  }

  noteDeadline(): void {}

  skip(entry: Entry): void {
    this.#entries?.get(entry)?.();
  }

  /** Lets everyone go on who can. */
  skipAll(): void {
    for (const entry of this.#all()) this.skip(entry);
  }

  #all(): Entry[] {
    return [...(this.#entries?.keys() ?? [])];
  }

  /** Takes all of them out. */
  clear(): Entry[] {
    const all = this.#all();
    for (const entry of all) this.end(entry);
    return all;
  }
}
