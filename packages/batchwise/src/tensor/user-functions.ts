// Adapts the user's functions of an item to functions of a row. A value that is not a function is
// passed on, and the batcher below refuses it.

import type { BatchCache, BatchOptions } from "../core/contract/options.ts";
import { isThenable } from "../core/contract/thenable.ts";
import type { RowResult } from "./batch-output.ts";
import type { TensorRow } from "./call.ts";
import type { ResolvedPadding, SplitOptions } from "./options.ts";
import { keptResult, ownResult } from "./results.ts";
import { type Checked, roundedUp, sizeOf } from "./shape.ts";

type OfItem<Value> = (item: never) => Value;

/** A function of a record, as a function of a row. */
export function ofRow(given: unknown): never {
  if (typeof given !== "function") return given as never;
  return ((row: TensorRow) => (given as OfItem<unknown>)(row.features as never)) as never;
}

/** The options for the batcher below, whose items are rows. */
export function rowOptions(
  { own, others }: SplitOptions,
  padding: ResolvedPadding,
  laneOf: (key: string, row: TensorRow) => string,
): BatchOptions<unknown, unknown> {
  const { cost, batchCost, key, dedupe, fairBy, cache, ...rest } = others;
  const given = { key: ofKey(key, laneOf), dedupe: ofRow(dedupe), fairBy: ofRow(fairBy), cache: ofResults(cache, own) };
  const measure =
    typeof batchCost !== "function"
      ? batchCost
      : (rows: readonly unknown[]) => batchCost((rows as readonly TensorRow[]).map(({ features }) => features));
  // A user's cost adds up, as in any batcher; lengths of padded rows do not.
  if (cost !== undefined) return { ...rest, ...given, batchCost: measure, cost: ofRow(cost) };
  const lengthOf = own.lengthOf === undefined ? (row: TensorRow) => elementsOf(row, padding) : ofRow(own.lengthOf);
  return { ...rest, ...given, batchCost: measure ?? "padded", cost: lengthOf as OfItem<number> as never };
}

/**
 * The number of elements of the row's largest feature, padded to its multiples. The same for all
 * rows of a call. A dimension of 0 counts as 1, because it would hide the other dimensions, to
 * which the rest of a batch would be padded.
 */
function elementsOf({ call }: TensorRow, padding: ResolvedPadding): number {
  if (call.rowCost >= 0) return call.rowCost;
  for (const name of call.names) {
    const { dims } = call.features[name] as Checked;
    const rowDims = dims.slice(1).map((dim) => Math.max(1, dim));
    call.rowCost = Math.max(call.rowCost, sizeOf(roundedUp(rowDims, padding.multiplesOf(name))));
  }
  return call.rowCost;
}

function ofKey(key: unknown, laneOf: (key: string, row: TensorRow) => string): never {
  if (typeof key !== "function") return key as never;
  return ((row: TensorRow) => {
    const own: unknown = key(row.features);
    return typeof own === "string" ? laneOf(own, row) : own;
  }) as never;
}

/** A user's cache of results, as a cache of rows. */
function ofResults(cache: BatchCache<unknown> | undefined, { paddingSide }: SplitOptions["own"]): never {
  const { get, set, delete: remove } = (cache ?? {}) as Partial<BatchCache<unknown>>;
  if (typeof get !== "function" || typeof set !== "function") return cache as never;
  // A row's result is never null: a cache's null is a miss.
  const kept = (value: unknown): unknown => (value === undefined || value === null ? undefined : keptResult(value));
  return {
    get: (key: string): unknown => {
      const value = get.call(cache, key);
      return isThenable(value) ? Promise.resolve(value).then(kept) : kept(value);
    },
    set: (key: string, result: unknown) => set.call(cache, key, ownResult(result as RowResult, paddingSide)),
    ...(typeof remove === "function" && { delete: (key: string) => remove.call(cache, key) }),
  } as never;
}
