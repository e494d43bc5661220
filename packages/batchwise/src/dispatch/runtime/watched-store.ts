// A store whose losses are noticed. A loss that it has found is told once, whatever call found it,
// before any later call; the call that notices it, and those under way when it was found, reject
// with it.

import { DispatchError } from "../contract/errors.ts";
import type { Store } from "../contract/store.ts";
import { isConnectionError, readable, wordsOf } from "../format/client-error.ts";
import type { DispatchClock } from "../options/dispatcher-options.ts";
import type { OpenCalls } from "./open-calls.ts";

type Method = (...given: unknown[]) => unknown;

/** The part of a runtime that is used here. */
interface Watcher {
  readonly clock: DispatchClock;
  readonly calls: OpenCalls;
  /** Called with each risk of the store that was not known before. */
  onRisk(risk: DispatchError): void;
}

/**
 * The same store, each call of it held by the clock and among the open calls. `onSetBack` is called
 * once for each loss that it finds from now on.
 */
export function watchedStore(store: Store, watcher: Watcher, onSetBack: (loss: DispatchError) => void): Store {
  const { clock, calls } = watcher;
  let known = store.setBack ?? null;
  /** The loss that was not told before, if there is one. */
  const tellNew = (): DispatchError | null => {
    const found = store.setBack ?? null;
    if (found === null || found === known) return null;
    known = found;
    onSetBack(found);
    return found;
  };
  let knownRisk: DispatchError | null = null;
  const tellRisk = (): void => {
    const { risk = null } = store;
    if (risk !== null && risk !== knownRisk) watcher.onRisk(risk);
    knownRisk = risk;
  };
  const watched = (name: string, method: Method): Method => {
    return async (...given) => {
      const loss = tellNew();
      if (loss !== null) throw loss;
      try {
        return await calls.add(name, clock.hold(call(method, given)));
      } catch (error) {
        throw unavailable(readable(error));
      } finally {
        tellNew();
        tellRisk();
      }
    };
  };
  const call = async (method: Method, given: unknown[]): Promise<unknown> => method.apply(store, given);
  return new Proxy({} as Store, {
    get(_none, name) {
      const value: unknown = Reflect.get(store, name);
      return typeof value === "function" ? watched(String(name), value as Method) : value;
    },
  });
}

/** The same error, unless it is of a connection, and the store has not said what that means. */
function unavailable(error: unknown): unknown {
  if (error instanceof DispatchError || !isConnectionError(error)) return error;
  return new DispatchError("STORE_UNAVAILABLE", wordsOf(error), error);
}
