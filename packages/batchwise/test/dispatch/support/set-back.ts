// A memory store that can lose everything, as a Redis server does that is flushed: it finds out at
// the next call.

import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";

export interface LosingStore extends Store {
  /** Deletes everything, without a notice to anyone. */
  lose(): void;
}

export function losingStore(): LosingStore {
  let inner = memoryStore();
  let isLost = false;
  let setBack: DispatchError | null = null;
  const lose = (): void => {
    [inner, isLost] = [memoryStore(), true];
  };
  const find = (): DispatchError => {
    setBack = new DispatchError("STORE_SET_BACK", "The store has lost what it had answered for.");
    isLost = false;
    return setBack;
  };
  return new Proxy({} as LosingStore, {
    get(_none, name) {
      if (name === "lose") return lose;
      if (name === "setBack") return setBack;
      const value: unknown = Reflect.get(inner, name);
      if (typeof value !== "function") return value;
      return async (...given: readonly unknown[]) => {
        if (isLost) throw find();
        return await (value as (...given: readonly unknown[]) => unknown).apply(inner, [...given]);
      };
    },
  });
}
