// A safe wrapper of the user's cache: a call that throws, rejects or never settles is a miss, with
// a warning if it failed. Keys separate items of different lanes.

import type { Events } from "../contract/events.ts";
import type { BatchCache } from "../contract/options.ts";
import { follow, isThenable } from "../contract/thenable.ts";
import { invalidOption } from "../contract/validate.ts";
import type { InContext } from "../time/clock.ts";

/** The key of a result, unique for a lane's key and a dedupe key. */
export function cacheKeyOf(key: string | undefined, dedupeKey: string): string {
  return key === undefined ? dedupeKey : `${key.length}:${key}=${dedupeKey}`;
}

export class ResultCache {
  readonly #cache: BatchCache<unknown>;
  readonly #events: Events;
  readonly #inContext: InContext;
  /** Number of pending deletions by key. Until they end, stored values of the key are ignored. */
  readonly #deleting: Map<string, number> = new Map();
  /** The end of the pending stores of a key. */
  readonly #storing: Map<string, Promise<unknown>> = new Map();

  constructor(cache: BatchCache<unknown>, events: Events, inContext: InContext) {
    this.#cache = cache;
    this.#events = events;
    this.#inContext = inContext;
  }

  /** The stored value, or a promise of it that never rejects; see `isMiss`. */
  read(key: string): unknown {
    return this.#deleting.has(key) ? undefined : this.#call(() => this.#cache.get(key));
  }

  /** True if `read` returned this for a missing key. Such a result is not stored either. */
  isMiss(value: unknown): boolean {
    return value === undefined || (value === null && this.#cache.nullIsResult !== true);
  }

  store(key: string, value: unknown): void {
    if (this.isMiss(value)) {
      if (value === null) this.#warnOfNull();
      return;
    }
    const stored = this.#call(() => this.#cache.set(key, value));
    if (stored instanceof Promise) this.#inContext(() => this.#noteStore(key, stored));
  }

  #noteStore(key: string, stored: Promise<unknown>): void {
    const all = Promise.all([this.#storing.get(key), stored]).then(() => {
      if (this.#storing.get(key) === all) this.#storing.delete(key);
    });
    this.#storing.set(key, all);
  }

  /** Throws INVALID_OPTION if the cache cannot delete. */
  checkDeletes(): void {
    if (typeof this.#cache.delete === "function") return;
    throw invalidOption(TypeError, "Expected `cache.delete` to be a function where `forget` is called");
  }

  /**
   * Deletes at once, and again after the key's pending stores, which would undo it. Rejects if the
   * cache fails to delete. Until then, stored values of the key are ignored.
   */
  async delete(key: string): Promise<void> {
    const stores = this.#storing.get(key);
    const deleted = stores === undefined ? this.#deleteNow(key) : this.#deleteTwice(stores, key);
    if (!isThenable(deleted)) return;
    this.#deleting.set(key, (this.#deleting.get(key) ?? 0) + 1);
    try {
      await deleted;
    } finally {
      const others = (this.#deleting.get(key) ?? 0) - 1;
      if (others > 0) this.#deleting.set(key, others);
      else this.#deleting.delete(key);
    }
  }

  #deleteNow(key: string): unknown {
    return this.#inContext(() => this.#cache.delete?.(key));
  }

  /** Stores that begin later are of runs after `forget`, so they are not waited for. */
  async #deleteTwice(stores: Promise<unknown>, key: string): Promise<void> {
    await this.#deleteNow(key);
    await stores;
    await this.#deleteNow(key);
  }

  /**
   * The cache's return value, or a promise of it that never rejects. Runs in the batcher's async
   * context.
   */
  #call(use: () => unknown): unknown {
    return this.#inContext(() => {
      try {
        const returned = use();
        return isThenable(returned) ? follow(returned).catch((error: unknown) => this.#warn(error)) : returned;
      } catch (error) {
        return this.#warn(error);
      }
    });
  }

  #warnOfNull(): void {
    const way = "Set `cache.nullIsResult` to true if it answers `undefined` for a key that it does not have";
    const message = `A result that is null is not stored: a cache's null is a miss. ${way}.`;
    this.#events.warnOnce("null", "CACHE_NULL", () => message);
  }

  #warn(error: unknown): undefined {
    this.#events.warn("CACHE_FAILED", "The cache failed; the item counts as not cached.", error);
    return undefined;
  }
}
