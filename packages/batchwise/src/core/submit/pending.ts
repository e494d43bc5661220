// Entries before the queue: in a cache look-up, or with a pending `prepareItem`. They neither wait
// nor run. Their deadlines and signals apply, and `close()` includes them. An entry ends to be
// pending when its last caller leaves, whatever the look-up or preparation does.

import type { Entry, EntryHolder } from "../queue/entry.ts";

/**
 * Called to end the pending state early: the entry takes its next step without the awaited result.
 */
export type Skip = () => void;

export class Pending implements EntryHolder {
  /** They have not started to run. */
  readonly isWaiting = true;
  #entries: Map<Entry, Skip | null> | null = null;

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** `skip`: null if the entry cannot continue without the awaited result. */
  start(entry: Entry, skip: Skip | null): void {
    entry.holder = this;
    this.#entries ??= new Map();
    this.#entries.set(entry, skip);
  }

  has(entry: Entry): boolean {
    return this.#entries?.has(entry) ?? false;
  }

  /** Ends the pending state; false if it had ended. */
  end(entry: Entry): boolean {
    if (!this.#entries?.delete(entry)) return false;
    entry.holder = null;
    return true;
  }

  /** Its last caller has left. */
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

  /** Lets all entries continue that can. */
  skipAll(): void {
    for (const entry of this.#all()) this.skip(entry);
  }

  #all(): Entry[] {
    return [...(this.#entries?.keys() ?? [])];
  }

  /** Removes and returns all entries. */
  clear(): Entry[] {
    const all = this.#all();
    for (const entry of all) this.end(entry);
    return all;
  }
}
