// Entries that come into the queue later than their submit: when a look-up in the cache has found
// nothing, or when `prepareItem` has made their item. Deadlines, signals and latencies count from
// the submit all the same.

import { follow, ignoreFailure } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";
import type { InContext } from "../time/clock.ts";
import type { Admission } from "./admission.ts";
import { refusalOf, refuse } from "./callers.ts";
import type { InFlight, SharedEntry } from "./in-flight.ts";
import type { Pending } from "./pending.ts";
import type { Services } from "./services.ts";

/** What late entries need. */
export interface LateParts {
  readonly services: Services;
  readonly admission: Admission;
  readonly inFlight: InFlight;
  readonly pending: Pending;
  readonly inContext: InContext;
}

export class LateEntries {
  readonly #parts: LateParts;
  readonly #check: (entry: Entry) => void;

  /** `check` throws for an item that may not come in. */
  constructor(parts: LateParts, check: (entry: Entry) => void) {
    this.#parts = parts;
    this.#check = check;
  }

  /**
   * Answers from the cache, or calls `miss` once it is known that it cannot. Callers may leave in
   * between.
   */
  lookUp(shared: SharedEntry, miss: () => void): void {
    const { inFlight, pending, services, inContext } = this.#parts;
    const { entry } = shared;
    const { cache } = inFlight;
    if (cache === undefined) {
      miss();
      return;
    }
    let isOver = false;
    const found = (value: unknown): void => {
      // After a miss its item may be pending, which is not the look-up's to end.
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
    else inContext(() => value.then(found).then(() => services.turn.lookAgain()));
  }

  /**
   * A promise of an item, in the place of the item. It may come to nothing before anyone awaits it,
   * or when nobody does.
   */
  adopt(entry: Entry, prepared: PromiseLike<unknown>): void {
    // A promise may have a `then` of its own, which may throw.
    entry.item = this.#parts.inContext(() => {
      const promised = follow(prepared);
      ignoreFailure(promised);
      return promised;
    });
  }

  /** Queues an entry that holds a promise of its item, when that is there. */
  awaitItem(entry: Entry): void {
    const { admission, pending, services, inContext } = this.#parts;
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
      // `batchCost` may have sent the caller away.
      if (entry.recipient !== null) admission.accept(entry);
    };
    pending.start(entry, null);
    const promised = entry.item as Promise<unknown>;
    entry.item = undefined;
    inContext(() => {
      promised.then(
        (item) => settle(() => enter(item)),
        (error: unknown) => settle(() => refuse(services, entry, error, "failed")),
      );
    });
  }
}
