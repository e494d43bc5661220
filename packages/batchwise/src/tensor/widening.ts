// Finds calls that would make a batch far larger. A feature without elements costs its caller no
// memory, but its dimensions are those to which the other features of the batch would be padded.
// Such a call fails without the others.

import { invalidOption } from "../core/contract/validate.ts";
import type { TensorCall } from "./call.ts";
import { type Checked, largestOf, sizeOf, textOf } from "./shape.ts";

/** Most elements that such a feature may add to a batch. */
const MOST_ADDED = 2 ** 24;

/** Calls that would make a batch of `rows` rows too large with a feature without elements. */
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
