// Builds the result of a call: its rows from one batch or several, in order.

import { BatchwiseError, namelessError } from "../core/contract/errors.ts";
import { type BatchOutput, messageOf, RowResult, readOutput } from "./batch-output.ts";
import type { TensorRow } from "./call.ts";
import { fillOf } from "./dtype.ts";
import { join, type Part, viewRows } from "./join.ts";
import type { CopyOutputs } from "./options.ts";
import { type Checked, largestOf } from "./shape.ts";
import { checkIsLike } from "./stack.ts";
import type { Outputs, PaddingSide } from "./types.ts";

export interface ResultRules {
  readonly copyOutputs: CopyOutputs;
  readonly paddingSide: PaddingSide;
}

/** Consecutive rows of one batch. */
interface Run {
  readonly output: BatchOutput;
  readonly from: number;
  to: number;
}

/**
 * The results of a call's rows as one. Throws BATCH_RESULT if two batches answered in different
 * forms.
 */
export function collect(results: readonly RowResult[], rules: ResultRules): Outputs {
  const runs = runsOf(results);
  const [first] = runs as [Run];
  const { shape, tensors } = first.output;
  const isCopied = mustCopy(first.output, rules.copyOutputs);
  const collected = new Map<string, Checked>();
  for (const name of tensors.keys()) {
    const parts = runs.map((run) => partOf(run, first, name)) as [Part, ...Part[]];
    collected.set(name, runs.length === 1 && !isCopied ? view(parts[0]) : joined(name, parts, rules));
  }
  if (shape === "tensor") return collected.get("") as unknown as Outputs;
  return (shape === "list" ? [...collected.values()] : Object.fromEntries(collected)) as unknown as Outputs;
}

/**
 * Copies the results of a batch's rows to new memory, once for consecutive rows of one call. Needed
 * if the handler reuses the memory of its answer.
 */
export function copyResults(output: BatchOutput, rows: readonly TensorRow[]): RowResult[] {
  const results: RowResult[] = [];
  for (let from = 0, to = 0; from < rows.length; from = to) {
    while (to < rows.length && rows[to]?.call === rows[from]?.call) to += 1;
    const copied = copyRows(output, from, to);
    for (let row = from; row < to; row += 1) results.push(new RowResult(copied, row - from));
  }
  return results;
}

function copyRows({ shape, tensors, sharing }: BatchOutput, from: number, to: number): BatchOutput {
  const copies = new Map<string, Checked>();
  for (const [name, tensor] of tensors) {
    copies.set(name, join([{ tensor, from, to }], tensor.dims.slice(1), { side: "right", fill: 0 }));
  }
  return { shape, tensors: copies, sharing: sharing === "row" ? "row" : "call" };
}

function mustCopy({ sharing }: BatchOutput, copyOutputs: CopyOutputs): boolean {
  if (sharing === "row") return true;
  if (sharing === "call") return false;
  return copyOutputs === "always" || (copyOutputs === "shared" && sharing === "batch");
}

function view({ tensor, from, to }: Part): Checked {
  return viewRows(tensor, from, to);
}

/**
 * Rows of several batches as one tensor. Pads with zeros if the batches were padded to different
 * lengths.
 */
function joined(name: string, parts: readonly [Part, ...Part[]], { paddingSide }: ResultRules): Checked {
  const [{ tensor: first }, ...others] = parts;
  try {
    for (const { tensor } of others) checkIsLike(name === "" ? "output" : `output.${name}`, tensor, first);
  } catch (error) {
    throw different(messageOf(error), error);
  }
  const rowDims = largestOf(parts.map(({ tensor }) => tensor.dims.slice(1)));
  return join(parts, rowDims, { side: paddingSide, fill: fillOf(name, first.type, first.data, undefined) });
}

function partOf({ output, from, to }: Run, first: Run, name: string): Part {
  const tensor = output.tensors.get(name);
  const { shape, tensors } = first.output;
  if (tensor !== undefined && output.shape === shape && output.tensors.size === tensors.size)
    return { tensor, from, to };
  throw different(`Expected ${namesOf(first.output)}, got ${namesOf(output)}`, undefined);
}

function namesOf({ shape, tensors }: BatchOutput): string {
  if (shape === "tensor") return "a tensor";
  return shape === "list" ? `a list of ${tensors.size}` : `a record of ${[...tensors.keys()].join(", ")}`;
}

function different(reason: string, cause: unknown): Error {
  const message = `The rows of this call travelled in several batches, whose answers do not fit together. ${reason}`;
  return namelessError(new BatchwiseError({ code: "BATCH_RESULT", message, retryable: false, cause }));
}

function runsOf(results: readonly RowResult[]): Run[] {
  const runs: Run[] = [];
  for (const { output, row } of results) {
    const last = runs.at(-1);
    if (last?.output === output && last.to === row) last.to += 1;
    else runs.push({ output, from: row, to: row + 1 });
  }
  return runs;
}

/** A copy of a result for a cache: a view would keep the memory of its whole batch. */
export function ownResult(result: RowResult, paddingSide: PaddingSide): Outputs {
  return collect([result], { copyOutputs: "always", paddingSide });
}

/** A row's result out of a cache. Throws BATCH_RESULT if the value is not one. */
export function keptResult(kept: unknown): RowResult {
  return new RowResult(readOutput(kept, 1, "row"), 0);
}
