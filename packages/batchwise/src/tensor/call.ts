// One call: its features, read once and checked, and its rows, which are the items of the batcher
// below.

import { describe } from "../core/contract/errors.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { tagOf } from "./dtype.ts";
import { viewRows } from "./join.ts";
import { type Checked, checkTensor, isTensor, textOf, wrong } from "./shape.ts";

/** Rows without elements take no memory of the caller, but each is an item. */
const MOST_EMPTY_ROWS = 65_536;

export type CheckedFeatures = Readonly<Record<string, Checked>>;

/** The features of a call, all of rank 2 or more, with the same number of rows. */
export class TensorCall {
  readonly features: CheckedFeatures;
  readonly names: readonly string[];
  /** The rows, in order; at least one. */
  readonly rows: readonly TensorRow[];
  /** Names, types and ranks. Calls with different signatures cannot share a batch. */
  readonly signature: string;
  /** The cost of each row if it depends only on the dimensions; -1 until it is known. */
  rowCost: number = -1;

  /** Throws INVALID_OPTION. */
  constructor(given: unknown) {
    const features = readFeatures(given);
    this.features = features;
    this.names = Object.keys(features);
    this.rows = Array.from({ length: countRows(features) }, (_, index) => new TensorRow(this, index));
    const parts = this.names.map((name) => {
      const { type, data, dims } = features[name] as Checked;
      return `${JSON.stringify(name)} ${type} ${tagOf(data)} ${dims.length}`;
    });
    this.signature = parts.sort().join(", ");
  }
}

/** One row of a call. */
export class TensorRow {
  readonly call: TensorCall;
  readonly index: number;

  constructor(call: TensorCall, index: number) {
    this.call = call;
    this.index = index;
  }

  /** The row as a record of tensors of one row each, for users' functions. */
  get features(): CheckedFeatures {
    const { call, index } = this;
    if (call.rows.length === 1) return call.features;
    return Object.fromEntries(
      call.names.map((name) => [name, viewRows(call.features[name] as Checked, index, index + 1)]),
    );
  }
}

function readFeatures(given: unknown): CheckedFeatures {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const hint = Array.isArray(given) ? "; `submitMany` takes a list" : "";
    throw wrong("features", "a record of tensors", describe(given) + hint);
  }
  if (isTensor(given)) throw wrong("features", "a record of tensors", "a tensor; give it a name: `{ input: tensor }`");
  const features = Object.entries(given).filter(([, tensor]) => tensor !== undefined);
  return Object.fromEntries(
    features.map(([name, tensor]) => [name, withRows(`features.${name}`, checkTensor(`features.${name}`, tensor))]),
  );
}

/** The tensor with its rows as first dimension: a tensor of rank 1 becomes one row. */
function withRows(name: string, tensor: Checked): Checked {
  const { type, data, dims } = tensor;
  if (dims.length === 0) throw wrong(`${name}.dims`, "of rank 1 or more", textOf(dims));
  return dims.length === 1 ? { type, data, dims: [1, ...dims] } : tensor;
}

function countRows(features: CheckedFeatures): number {
  const [first, ...others] = Object.entries(features);
  if (first === undefined) throw invalidOption(RangeError, "Expected `features` to have at least one tensor, got none");
  const rows = first[1].dims[0] as number;
  for (const [name, { dims }] of others) {
    if (dims[0] === rows) continue;
    const hint = dims[0] === 1 || rows === 1 ? " (a tensor of rank 1 is one row)" : "";
    const message = `Expected \`${name}\` to have ${rows} rows as \`${first[0]}\` has, got ${dims[0]}${hint}`;
    throw invalidOption(RangeError, message);
  }
  if (rows === 0) throw invalidOption(RangeError, "Expected `features` to have at least one row, got 0");
  if (rows > MOST_EMPTY_ROWS && Object.values(features).every(({ data }) => data.length === 0)) {
    const message = `Expected \`features\` to have at most ${MOST_EMPTY_ROWS} rows without elements, got ${rows}`;
    throw invalidOption(RangeError, message);
  }
  return rows;
}
