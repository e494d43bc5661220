// What the handler gets for a batch of rows: one tensor for each feature. The memory of a single
// call is handed through where nothing has to be padded; everything else is stacked into new
// memory. A call that cannot be stacked has no say in the dimensions of the others.

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

/** The same, for a call as it is here. Asks the handler about each call once. */
export type InputCheck = (call: TensorCall) => void;

/** Asks the handler about a call in the form that it would have in a batch of its own. */
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

/** A batch on its way to the handler. */
export interface BatchInput {
  /** None where every call is broken. */
  readonly features: CheckedFeatures | undefined;
  readonly rows: readonly TensorRow[];
  /** More than one call has rows in it. */
  readonly isShared: boolean;
  /**
   * Calls whose memory has gone since the submit, those that the handler does not take, and those
   * that the others cannot be padded to. Their rows are filled with zeros, so that all others keep
   * their places.
   */
  readonly broken: ReadonlyMap<TensorCall, unknown>;
}

/** Stacks the rows of a batch. `inputCheck` is the handler's, if it has one. */
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

/** What the handler would get of a call that has its batch to itself. */
function formAlone(name: string, call: TensorCall, padding: ResolvedPadding): TensorForm {
  const { type, dims } = call.features[name] as Checked;
  const [rows = 0, ...rowDims] = dims;
  return { type, dims: [rows, ...roundedUp(rowDims, padding.multiplesOf(name))] };
}

/** As many rows of zeros as a tensor has, of the form of another. */
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
