// The options of a stream function: a batcher's options, except options for answers that are
// computed twice or shared, plus `maxBufferedChunks` and `maxStallMs`. Validates those two; the
// engine validates the rest.

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
 * Options that do not apply: a stream cannot be computed twice or shared, and each is a call of one
 * item.
 */
const NOT_FOR_STREAMS = ["dedupe", "cache", "retry", "isolateFailures", "smallCallFirst", "targetLatencyMs"] as const;

type NotForStreams = (typeof NOT_FOR_STREAMS)[number];

/** Options of `batchStream`. */
export interface StreamOptions<Item> extends Omit<BatchOptions<Item, never>, NotForStreams> {
  /**
   * Most unread chunks per caller while its batch continues. With one more, the batch waits until
   * the caller reads; `1` keeps the handler close to the slowest reader. Integer >= 1 or Infinity.
   * Default 16.
   */
  readonly maxBufferedChunks?: number | undefined;
  /**
   * Longest time that others wait for a caller who does not read: another caller of its batch, or
   * the queue while no slot is free. Then that caller's stream ends with STREAM_STALLED and the
   * batch continues. Time in which no one waits does not count. In milliseconds, > 0; Infinity
   * turns it off. Default 30,000.
   */
  readonly maxStallMs?: number | undefined;
}

/** The resolved options. */
export interface ResolvedStreamOptions extends ShownOptions {
  readonly maxBufferedChunks: number;
  readonly maxStallMs: number;
}

/** Wraps an item in the engine. */
interface Carrier<Item> {
  readonly item: Item;
}

export interface StreamSetup<Item, Carried extends Carrier<Item>> {
  readonly maxBufferedChunks: number;
  readonly maxStallMs: number;
  /** The options for the engine: the user's functions receive the items, not their wrappers. */
  readonly engine: BatchOptions<Carried, void>;
}

const OWN_NAMES = ["maxBufferedChunks", "maxStallMs"];

/** Throws INVALID_OPTION for options of streams. */
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

/** Throws INVALID_OPTION for options that do not apply to streams. */
export function refuseOptions(options: object): void {
  for (const name of NOT_FOR_STREAMS) {
    if ((options as Record<string, unknown>)[name] === undefined) continue;
    throw invalidOption(TypeError, `Expected no \`${name}\`: it does not apply to a stream`);
  }
  // The engine does not know these options, so its hint for a misspelt one would be wrong.
  const misspelt = Object.entries(options).filter(([name]) => /chunk|buffer|stal/i.test(name));
  refuseUnknown(Object.fromEntries(misspelt), OWN_NAMES);
}

function unwrapped<Item, Value>(
  of: ((item: Item) => Value) | undefined,
): ((carrier: Carrier<Item>) => Value) | undefined {
  return typeof of === "function" ? (carrier) => of(carrier.item) : of;
}
