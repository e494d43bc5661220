// What was reported, by name, so that one cause is not reported again and again. The runs of a
// dispatcher share it.

/** Names that may be reported again are removed once in this time. */
const PURGED_MS = 30_000;

export class Reported {
  /** Until when the name is not reported again, monotonic. */
  readonly #until: Map<string, number> = new Map();
  #purgeAt = 0;

  /** True, and noted for `forMs`, unless the name is noted already. */
  note(name: string, now: number, forMs: number): boolean {
    if ((this.#until.get(name) ?? now) > now) return false;
    if (now >= this.#purgeAt) {
      for (const [noted, until] of this.#until) if (until <= now) this.#until.delete(noted);
      this.#purgeAt = now + PURGED_MS;
    }
    this.#until.set(name, now + forMs);
    return true;
  }

  /** The name is reported again. */
  forget(name: string): void {
    this.#until.delete(name);
  }
}
