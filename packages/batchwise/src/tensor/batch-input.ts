// Builds the handler's input for a batch of rows: one tensor per feature. If nothing has to be
// padded, a single call's memory is passed on; everything else is stacked into new memory. A call
// that cannot be stacked does not affect the dimensions of the others.

import type { CheckedFeatures, TensorCall, TensorRow } from "./call.ts";
import { allocate, fillOf } from "./dtype.ts";
import { join, type Part, viewRows } from "./join.ts";
import type { ResolvedPadding } from "./options.ts";
import { areEqual, type Checked, checkLength, largestOf, roundedUp, sizeOf } from "./shape.ts";
import { tooWideFor } from "./widening.ts";

/** A tensor without its data. */
export interface TensorForm {
  readonly type: string;
  readonly dims: readonly number[];
}

/** Throws for a call that the handler does not take. */
export type CheckInputs = (forms: Readonly<Record<string, TensorForm>>) => void;

/** The same for a `TensorCall`. Calls the handler's check once per call. */
export type InputCheck = (call: TensorCall) => void;

/** Passes the handler's check the form that a call would have in a batch of its own. */
export function inputCheckOf(checkInputs: CheckInputs, padding: ResolvedPadding): InputCheck {
  const taken = new WeakSet<TensorCall>();
  return (call) => {
    if (taken.has(call)) return;
    checkInputs(Object.fromEntries(call.names.map((name) => [name, formAlone(name, call, padding)])));
    taken.add(call);
  };
}

/** Consecutive rows of one call. */
interface Run {
  readonly call: TensorCall;
  readonly from: number;
  to: number;
}

/** The input of one batch. */
export interface BatchInput {
  /** Undefined if every call is broken. */
  readonly features: CheckedFeatures | undefined;
  readonly rows: readonly TensorRow[];
  /** True if more than one call has rows in it. */
  readonly isShared: boolean;
  /**
   * Calls whose memory was transferred since the submit, that the handler does not accept, or to
   * which the others cannot be padded; with their errors. Their rows are filled with zeros, so that
   * all other rows keep their places.
   */
  readonly broken: ReadonlyMap<TensorCall, unknown>;
}

/** Stacks the rows of a batch. `inputCheck`: the handler's check, if it has one. */
export function batchInput(
  rows: readonly TensorRow[],
  padding: ResolvedPadding,
  inputCheck: InputCheck | undefined,
): BatchInput {
  const calls = new Set(rows.map(({ call }) => call));
  const broken = brokenOf(calls, inputCheck);
  const live = [...calls].filter((call) => !broken.has(call));
  for (const [call, error] of tooWideFor(rows.length, live)) broken.set(call, error);
  const isShared = calls.size > 1;
  const pattern = rows.find(({ call }) => !broken.has(call))?.call;
  if (pattern === undefined) return { features: undefined, rows, isShared, broken };
  const runs = runsOf(rows);
  const features = pattern.names.map((name) => {
    const parts = runs.map(({ call, from, to }) => {
      const tensor = call.features[name] as Checked;
      return { tensor: broken.has(call) ? blank(tensor, pattern.features[name] as Checked) : tensor, from, to };
    });
    return [name, stacked(name, parts as [Part, ...Part[]], padding)] as const;
  });
  return { features: Object.fromEntries(features), rows, isShared, broken };
}

function brokenOf(calls: ReadonlySet<TensorCall>, inputCheck: InputCheck | undefined): Map<TensorCall, unknown> {
  const broken = new Map<TensorCall, unknown>();
  for (const call of calls) {
    try {
      for (const name of call.names) checkIsThere(name, call.features[name] as Checked);
      inputCheck?.(call);
    } catch (error) {
      broken.set(call, error);
    }
  }
  return broken;
}

function checkIsThere(name: string, { data, dims }: Checked): void {
  checkLength(`features.${name}`, data, dims);
}

/** The form of a call in a batch of its own. */
function formAlone(name: string, call: TensorCall, padding: ResolvedPadding): TensorForm {
  const { type, dims } = call.features[name] as Checked;
  const [rows = 0, ...rowDims] = dims;
  return { type, dims: [rows, ...roundedUp(rowDims, padding.multiplesOf(name))] };
}

/** A tensor of zeros with the row count of the first argument and the form of the second. */
function blank({ dims: [rows = 0] }: Checked, { type, data, dims: [, ...rowDims] }: Checked): Checked {
  const dims = [rows, ...rowDims];
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
