// Joins rows of several tensors into one tensor. Rows that are shorter than the result are padded
// on one side of every dimension. The result has its own memory.

import { allocate, copyElements, type Data } from "./dtype.ts";
import { areEqual, type Checked, sizeOf } from "./shape.ts";
import type { PaddingSide } from "./types.ts";

/** The rows `from` up to, not including, `to` of a tensor. */
export interface Part {
  readonly tensor: Checked;
  readonly from: number;
  readonly to: number;
}

export interface Padding {
  readonly fill: number | bigint | string;
  readonly side: PaddingSide;
}

/**
 * One tensor of all rows, each with the dimensions `rowDims`. The parts have one type, and no row
 * is longer than `rowDims`.
 */
export function join(parts: readonly [Part, ...Part[]], rowDims: readonly number[], padding: Padding): Checked {
  const { type, data } = parts[0].tensor;
  const rowSize = sizeOf(rowDims);
  let rows = 0;
  let isPadded = false;
  for (const { tensor, from, to } of parts) {
    rows += to - from;
    isPadded ||= !areEqual(tensor.dims.slice(1), rowDims);
  }
  const joined = allocate(data, rows * rowSize, isPadded ? padding.fill : undefined);
  let at = 0;
  for (const part of parts) {
    copyRows(joined, at, rowDims, part, padding.side);
    at += (part.to - part.from) * rowSize;
  }
  return { type, data: joined, dims: [rows, ...rowDims] };
}

function copyRows(target: Data, start: number, rowDims: readonly number[], part: Part, side: PaddingSide): void {
  const { tensor, from, to } = part;
  const dims = tensor.dims.slice(1);
  const size = sizeOf(dims);
  const rowSize = sizeOf(rowDims);
  if (areEqual(dims, rowDims)) {
    copyElements(target, start, tensor.data, from * size, (to - from) * size);
    return;
  }
  const block = new Block(target, rowDims, tensor.data, dims, side);
  for (let row = from; row < to; row += 1) block.copy(0, start + (row - from) * rowSize, row * size);
}

/**
 * A block that is copied into a corner of a larger one: the first corner, or with side "left" the
 * last one.
 */
class Block {
  readonly #target: Data;
  readonly #targetDims: readonly number[];
  readonly #source: Data;
  readonly #dims: readonly number[];
  readonly #side: PaddingSide;
  /** The last dimension that differs: from there on the elements are contiguous. */
  readonly #last: number;

  constructor(target: Data, targetDims: readonly number[], source: Data, dims: readonly number[], side: PaddingSide) {
    this.#target = target;
    this.#targetDims = targetDims;
    this.#source = source;
    this.#dims = dims;
    this.#side = side;
    this.#last = dims.findLastIndex((dim, level) => dim !== targetDims[level]);
  }

  copy(level: number, at: number, from: number): void {
    const dim = this.#dims[level] as number;
    const stride = sizeOf(this.#targetDims.slice(level + 1));
    const sourceStride = sizeOf(this.#dims.slice(level + 1));
    const lead = this.#side === "left" ? (this.#targetDims[level] as number) - dim : 0;
    if (level === this.#last) {
      copyElements(this.#target, at + lead * stride, this.#source, from, dim * sourceStride);
      return;
    }
    for (let index = 0; index < dim; index += 1) {
      this.copy(level + 1, at + (lead + index) * stride, from + index * sourceStride);
    }
  }
}

/** Rows of one tensor. Shares the memory if the elements are in a typed array. */
export function viewRows({ type, data, dims }: Checked, from: number, to: number): Checked {
  if (from === 0 && to === dims[0]) return { type, data, dims };
  const size = sizeOf(dims.slice(1));
  const [start, end] = [from * size, to * size];
  const rows = Array.isArray(data) ? data.slice(start, end) : data.subarray(start, end);
  return { type, data: rows, dims: [to - from, ...dims.slice(1)] };
}
