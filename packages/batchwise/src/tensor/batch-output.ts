// Checks a handler's answer for a batch: a tensor, a list or a record of tensors, each with as many
// rows as the batch has. Also cuts out the part of one row.

import { BatchwiseError, countOf, describe, namelessError } from "../core/contract/errors.ts";
import { type Checked, checkTensor, isTensor, textOf, wrong } from "./shape.ts";

/**
 * Other users of an answer's memory. `"none"`: only the handler. `"batch"`: callers of other rows.
 * `"row"`: a row itself may be the answer to several callers, or stay in a cache. `"call"`: no
 * other, it is a copy for one call.
 */
export type Sharing = "none" | "batch" | "row" | "call";

/**
 * The tensors of an answer by name. The names of a list are its indexes; the name of a single
 * tensor is "".
 */
export interface BatchOutput {
  readonly shape: "tensor" | "list" | "record";
  readonly tensors: ReadonlyMap<string, Checked>;
  readonly sharing: Sharing;
}

/** The result of one row, until it is joined with the other rows of its call. */
export class RowResult {
  readonly output: BatchOutput;
  readonly row: number;

  constructor(output: BatchOutput, row: number) {
    this.output = output;
    this.row = row;
  }
}

/**
 * Checks the return value of a handler. Throws BATCH_RESULT, with both numbers if rows are missing.
 */
export function readOutput(given: unknown, rows: number, sharing: Sharing): BatchOutput {
  try {
    return { ...checkShape(given, rows), sharing };
  } catch (error) {
    const message = `The handler's answer is not what a batch of ${countOf(rows, "row")} needs. ${messageOf(error)}`;
    throw namelessError(new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false, cause: error }));
  }
}

function checkShape(given: unknown, rows: number): Omit<BatchOutput, "sharing"> {
  if (typeof given !== "object" || given === null) {
    throw wrong("output", "a tensor, or a list or a record of tensors", describe(given));
  }
  if (isTensor(given)) return { shape: "tensor", tensors: new Map([["", checkRows("output", given, rows)]]) };
  const isList = Array.isArray(given);
  const tensors = new Map<string, Checked>();
  for (const [name, value] of Object.entries(given)) {
    if (!isList && value === undefined) continue;
    tensors.set(name, checkRows(isList ? `output[${name}]` : `output.${name}`, value, rows));
  }
  if (tensors.size === 0) throw wrong("output", "a tensor, or a list or a record of tensors", "an empty one");
  return { shape: isList ? "list" : "record", tensors };
}

function checkRows(name: string, value: unknown, rows: number): Checked {
  const tensor = checkTensor(name, value);
  if (tensor.dims[0] === rows) return tensor;
  throw wrong(
    name,
    `a tensor of ${countOf(rows, "row")}`,
    `${tensor.dims[0] === undefined ? "no rows" : countOf(tensor.dims[0], "row")} (dims ${textOf(tensor.dims)})`,
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
