// What the handler gets for a batch of rows: one tensor for each feature. The memory of a single call is handed
// through where nothing has to be padded; everything else is stacked into new memory.

import type { CheckedFeatures, TensorCall, TensorRow } from "./call.ts";
import { allocate, fillOf } from "./dtype.ts";
import { join, type Part, viewRows } from "./join.ts";
import type { ResolvedPadding } from "./options.ts";
import { areEqual, type Checked, checkLength, largestOf, roundedUp, sizeOf } from "./shape.ts";

/** Consecutive rows of one call. */
interface Run {
  readonly call: TensorCall;
  readonly from: number;
  to: number;
}

/** A batch on its way to the handler. */
export interface BatchInput {
  readonly features: CheckedFeatures;
  readonly rows: readonly TensorRow[];
  /** More than one call has rows in it. */
  readonly isShared: boolean;
  /** Calls whose memory has gone since the submit. Their rows are filled with zeros, so that all others keep their places. */
  readonly broken: ReadonlyMap<TensorCall, unknown>;
}

/** Stacks the rows of a batch. Throws where no call of the batch still has its data. */
export function batchInput(rows: readonly TensorRow[], padding: ResolvedPadding): BatchInput {
  const calls = new Set(rows.map(({ call }) => call));
  const broken = new Map<TensorCall, unknown>();
  for (const call of calls) {
    try {
      for (const name of call.names) checkIsThere(name, call.features[name] as Checked);
    } catch (error) {
      broken.set(call, error);
    }
  }
  if (broken.size === calls.size) throw [...broken.values()][0];
  const runs = runsOf(rows);
  const { names } = (rows[0] as TensorRow).call;
  const features = names.map((name) => {
    const parts = runs.map(({ call, from, to }) => {
      const tensor = call.features[name] as Checked;
      return { tensor: broken.has(call) ? blank(tensor) : tensor, from, to };
    });
    return [name, stacked(name, parts as [Part, ...Part[]], padding)] as const;
  });
  return { features: Object.fromEntries(features), rows, isShared: calls.size > 1, broken };
}

function checkIsThere(name: string, { data, dims }: Checked): void {
  checkLength(`features.${name}`, data, dims);
}

function blank({ type, data, dims }: Checked): Checked {
  return { type, data: allocate(data, sizeOf(dims)), dims };
}

function runsOf(rows: readonly TensorRow[]): Run[] {
  const runs: Run[] = [];
  for (const { call, index } of rows) {
    const last = runs.at(-1);
    if (last?.call === call && last.to === index) last.to += 1;
    else runs.push({ call, from: index, to: index + 1 });
  }
  return runs;
}

function stacked(name: string, parts: readonly [Part, ...Part[]], padding: ResolvedPadding): Checked {
  const rowDims = roundedUp(largestOf(parts.map(({ tensor }) => tensor.dims.slice(1))), padding.multiplesOf(name));
  const [{ tensor, from, to }, second] = parts;
  if (second === undefined && !padding.copyInputs && areEqual(tensor.dims.slice(1), rowDims)) {
    return viewRows(tensor, from, to);
  }
  const fill = fillOf(`padTokens.${name}`, tensor.type, tensor.data, padding.tokenOf(name));
  return join(parts, rowDims, { fill, side: padding.paddingSide });
}
