// A feature without elements costs its caller no memory, but may have dimensions to which the
// others of its batch would be padded. One that would make them far larger costs its own caller
// alone.

import { invalidOption } from "../core/contract/validate.ts";
import type { TensorCall } from "./call.ts";
import { type Checked, largestOf, sizeOf, textOf } from "./shape.ts";

/** So many elements more than the batch has without it. */
const MOST_ADDED = 2 ** 24;

/**
 * The calls that would make a batch of so many rows too large with a feature that has no elements.
 */
export function tooWideFor(rows: number, calls: readonly TensorCall[]): Map<TensorCall, unknown> {
  const refused = new Map<TensorCall, unknown>();
  for (const name of calls[0]?.names ?? []) {
    const isEmpty = (call: TensorCall): boolean => call.features[name]?.data.length === 0;
    const empty = calls.filter(isEmpty);
    if (empty.length === 0) continue;
    const rowDimsOf = (call: TensorCall): number[] => (call.features[name] as Checked).dims.slice(1);
    const full = calls.filter((call) => !isEmpty(call));
    let rowDims = largestOf((full.length > 0 ? full : empty.slice(0, 1)).map(rowDimsOf));
    for (const call of empty) {
      const widened = largestOf([rowDims, rowDimsOf(call)]);
      const added = rows * (sizeOf(widened) - sizeOf(rowDims));
      if (added <= MOST_ADDED) rowDims = widened;
      else refused.set(call, tooWide(`features.${name}`, (call.features[name] as Checked).dims, added));
    }
  }
  return refused;
}

function tooWide(name: string, dims: readonly number[], added: number): Error {
  const message = `Expected \`${name}\` to pad the rows of a batch by at most ${MOST_ADDED} elements, got ${added}`;
  return invalidOption(RangeError, `${message}: dims ${textOf(dims)} without an element`);
}
