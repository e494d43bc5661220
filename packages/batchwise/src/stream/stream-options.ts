// The options of a stream function: those of a batcher, without the ones that need an answer which
// can be computed twice or shared, and with `maxBufferedChunks`. Validates that one; the engine
// validates the rest.

import type { BatchOptions, ShownOptions } from "../core/contract/options.ts";
import {
  AS_SIZE,
  aboveZero,
  check,
  checkIsObject,
  invalidOption,
  refuseUnknown,
  unboundedIntegerFrom,
} from "../core/contract/validate.ts";

/**
 * A stream cannot be computed twice or shared, and each is a call of one item: these options do not
 * apply to it.
 */
type NotForStreams = "dedupe" | "cache" | "retry" | "isolateFailures" | "smallCallFirst";

const NOT_FOR_STREAMS: readonly NotForStreams[] = ["dedupe", "cache", "retry", "isolateFailures", "smallCallFirst"];

/** Options of `batchStream`. */
export interface StreamOptions<Item> extends Omit<BatchOptions<Item, never>, NotForStreams> {
  /**
   * Unread chunks kept for a caller while its batch goes on. A chunk more, and the batch waits
   * until the caller reads; `1` keeps the handler close to the slowest reader. Integer >= 1 or
   * Infinity. Default 16.
   */
  readonly maxBufferedChunks?: number | undefined;
  /**
   * How long others wait for a caller who does not read: another caller of its batch, or the queue
   * while no slot is free. Then that caller's stream ends with STREAM_STALLED and the batch goes
   * on. Time in which nobody waits does not count. In milliseconds, > 0; Infinity turns it off.
   * Default 30,000.
   */
  readonly maxStallMs?: number | undefined;
}

/** The options in force. */
export interface ResolvedStreamOptions extends ShownOptions {
  readonly maxBufferedChunks: number;
  readonly maxStallMs: number;
}

/** What carries an item through the engine. */
interface Carrier<Item> {
  readonly item: Item;
}

export interface StreamSetup<Item, Carried extends Carrier<Item>> {
  readonly maxBufferedChunks: number;
  readonly maxStallMs: number;
  /** The options for the engine: the user's functions get the items, not what carries them. */
  readonly engine: BatchOptions<Carried, void>;
}

const OWN_NAMES = ["maxBufferedChunks", "maxStallMs"];

/** Throws INVALID_OPTION for what concerns streams. */
export function resolveStreamOptions<Item, Carried extends Carrier<Item>>(
  options: StreamOptions<Item> | undefined,
): StreamSetup<Item, Carried> {
  checkIsObject("options", options, AS_SIZE);
  const { maxBufferedChunks = 16, maxStallMs = 30_000, cost, key, fairBy, batchCost, ...rest } = options ?? {};
  refuseOptions(rest);
  check("maxBufferedChunks", unboundedIntegerFrom(1), maxBufferedChunks);
  check("maxStallMs", aboveZero, maxStallMs);
  const costOfBatch =
    typeof batchCost === "function"
      ? (carriers: readonly Carried[]) => batchCost(carriers.map(({ item }) => item))
      : batchCost;
  const ofItems = { cost: unwrapped(cost), key: unwrapped(key), fairBy: unwrapped(fairBy), batchCost: costOfBatch };
  return { maxBufferedChunks, maxStallMs, engine: { ...rest, ...ofItems } };
}

function refuseOptions(options: object): void {
  for (const name of NOT_FOR_STREAMS) {
    if ((options as Record<string, unknown>)[name] === undefined) continue;
    throw invalidOption(TypeError, `Expected no \`${name}\`: it does not apply to a stream`);
  }
  // The engine knows nothing of these options, so a misspelt one would get a wrong hint there.
  const misspelt = Object.entries(options).filter(([name]) => /chunk|buffer|stal/i.test(name));
  refuseUnknown(Object.fromEntries(misspelt), OWN_NAMES);
}

function unwrapped<Item, Value>(
  of: ((item: Item) => Value) | undefined,
): ((carrier: Carrier<Item>) => Value) | undefined {
  return typeof of === "function" ? (carrier) => of(carrier.item) : of;
}
