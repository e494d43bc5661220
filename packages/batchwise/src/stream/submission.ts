// Prepares the options with which one stream is submitted: the caller's options, with the stream's
// own signal instead of the caller's. That signal aborts when the reader leaves or the caller's
// signal aborts, so the engine watches one signal. Nothing here throws: for invalid options the
// engine receives options that it refuses with the right error.

import { ignoreIfPromise } from "../core/contract/thenable.ts";
import type { SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { type AbortSignals, reasonOf, type SharedSignal, type SignalListener } from "../core/submit/abort-signals.ts";
import { aSignal } from "../core/submit/read-item.ts";

/** Aborts when the reader leaves, or with the signal that it follows. */
export class StreamSignal implements SignalListener {
  readonly #controller: AbortController = new AbortController();
  #shared: SharedSignal | null = null;
  signalIndex = 0;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Streams of one signal leave one at a time. The engine reads a signal before it hands an item
   * over, so this one reports the caller's state from the start.
   */
  follow(signal: AbortSignal, signals: AbortSignals): void {
    const own = this.#controller.signal;
    const read = (name: "aborted" | "reason"): unknown => Reflect.get(AbortSignal.prototype, name, own);
    Object.defineProperties(own, {
      aborted: { get: () => read("aborted") || signal.aborted },
      reason: { get: () => (read("aborted") ? read("reason") : reasonOf(signal)) },
    });
    if (signal.aborted) this.aborted(reasonOf(signal));
    else this.#shared = signals.add(signal, this);
  }

  leave(): boolean {
    this.end();
    return true;
  }

  aborted(reason: unknown): void {
    this.#controller.abort(reason);
  }

  abort(): void {
    this.#controller.abort();
  }

  /** Call when the stream has ended: stops following the caller's signal. */
  end(): void {
    this.#shared?.remove(this);
    this.#shared = null;
  }
}

/** Reads each option once. Unknown names are kept, so that the engine refuses them. */
function read<Item>(given: SubmitManyOptions<Item>): SubmitManyOptions<Item> {
  const { signal, priority, cost, timeoutMs, key, context, ...others } = given;
  return { ...others, signal, priority, cost, timeoutMs, key, context };
}

/**
 * The options of a call with many items, each read once, because a getter may return another value
 * the next time. If reading threw, the result throws the same error for each item.
 */
export function readOnce<Item>(given: SubmitManyOptions<Item> | undefined): SubmitManyOptions<Item> | undefined {
  if (given === undefined || !isObject(given)) return given;
  try {
    return read(given);
  } catch (error) {
    return refused(undefined, error);
  }
}

/**
 * The options for the engine. Reads the caller's once; an item of `submitMany` gets its own cost
 * and priority.
 */
export function optionsFor<Item>(
  given: SubmitOptions | SubmitManyOptions<Item> | undefined,
  streamSignal: StreamSignal,
  signals: AbortSignals,
  ofMany: { readonly item: Item } | null,
): SubmitOptions {
  if (given === undefined) return { signal: streamSignal.signal };
  if (!isObject(given)) return given as SubmitOptions;
  try {
    const { signal, priority, cost, ...others } = read(given);
    const values = { priority: valueFor(priority, ofMany), cost: valueFor(cost, ofMany) };
    const isValid = isObject(signal) && aSignal.test(signal as never);
    if (signal !== undefined && !isValid) return { ...others, ...values, signal };
    if (signal !== undefined) streamSignal.follow(signal, signals);
    return { ...others, ...values, signal: streamSignal.signal };
  } catch (error) {
    return refused(streamSignal.signal, error);
  }
}

function isObject(given: unknown): boolean {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

function valueFor<Item>(
  value: number | ((item: Item) => number) | undefined,
  ofMany: { readonly item: Item } | null,
): number | undefined {
  if (typeof value !== "function") return value;
  if (ofMany === null) return value as never;
  const number = value(ofMany.item);
  ignoreIfPromise(number);
  return number;
}

/** Options that the engine refuses with this error. */
function refused(signal: AbortSignal | undefined, error: unknown): SubmitOptions {
  return {
    signal,
    get priority(): never {
      throw error;
    },
  };
}
