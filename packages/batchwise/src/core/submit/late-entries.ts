// Entries that are queued after their submit: when a cache look-up has missed, or `prepareItem` has
// made their item. Deadlines, signals and latencies count from the submit.

import { follow, ignoreFailure } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import type { Admission } from "./admission.ts";
import { refusalOf, refuse } from "./callers.ts";
import type { InFlight, SharedEntry } from "./in-flight.ts";
import type { Pending } from "./pending.ts";
import type { Services } from "./services.ts";

/** Dependencies of late entries. */
export interface LateParts {
  readonly services: Services;
  readonly admission: Admission;
  readonly inFlight: InFlight;
  readonly pending: Pending;
}

export class LateEntries {
  readonly #parts: LateParts;
  readonly #check: (entry: Entry) => void;

  /** `check` throws for an item that must not be queued. */
  constructor(parts: LateParts, check: (entry: Entry) => void) {
    this.#parts = parts;
    this.#check = check;
  }

  /** Answers from the cache, or calls `miss`. Callers may leave in between. */
  lookUp(shared: SharedEntry, miss: () => void): void {
    const { inFlight, pending, services } = this.#parts;
    const { entry } = shared;
    const { cache } = inFlight;
    if (cache === undefined) {
      miss();
      return;
    }
    let isOver = false;
    const found = (value: unknown): void => {
      // After a miss its item may be pending for another step.
      if (isOver || !pending.end(entry)) return;
      isOver = true;
      if (cache.isMiss(value)) {
        miss();
        return;
      }
      inFlight.forget(shared);
      services.recorder.foundInCache(shared.size);
      services.observer?.spared("cache", shared.size);
      shared.answer(value, services.clock.now());
    };
    pending.start(entry, () => found(undefined));
    const value = cache.read(shared.cacheKey);
    if (!(value instanceof Promise)) found(value);
    else services.inContext(() => value.then(found).then(() => services.turn.lookAgain()));
  }

  /**
   * Replaces the item by a promise of it. The promise may reject before or without being awaited.
   */
  adopt(entry: Entry, prepared: PromiseLike<unknown>): void {
    // A custom `then` may throw.
    entry.item = this.#parts.services.inContext(() => {
      const promised = follow(prepared);
      ignoreFailure(promised);
      return promised;
    });
  }

  /** Queues an entry when the promise of its item resolves. */
  awaitItem(entry: Entry): void {
    const { admission, pending, services } = this.#parts;
    const settle = (use: () => void): void => {
      if (pending.end(entry)) use();
      services.turn.lookAgain();
    };
    const enter = (item: unknown): void => {
      try {
        entry.item = item;
        this.#check(entry);
      } catch (error) {
        refuse(services, entry, error, refusalOf(error));
        return;
      }
      // `batchCost` may have made the caller leave.
      if (entry.recipient !== null) admission.accept(entry);
    };
    pending.start(entry, null);
    const promised = entry.item as Promise<unknown>;
    entry.item = undefined;
    services.inContext(() => {
      promised.then(
        (item) => settle(() => enter(item)),
        (error: unknown) => settle(() => refuse(services, entry, error, "failed")),
      );
    });
  }
}
