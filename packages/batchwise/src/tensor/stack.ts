// Joins and splits tensors, as pure functions. Joined tensors have their own memory; parts share
// the memory of the whole, except strings.

import { invalidOption } from "../core/contract/validate.ts";
import { fillOf, tagOf } from "./dtype.ts";
import { join, type Part, viewRows } from "./join.ts";
import { checkPaddingSide, checkToken, multiplesOf } from "./padding.ts";
import { areEqual, type Checked, checkTensor, largestOf, roundedUp, textOf, wrong } from "./shape.ts";
import type { PaddingSide, PadToken, Plain, TensorLike } from "./types.ts";

/** How tensors of different lengths are padded. */
export interface PadOptions {
  /** Value of the added places. Default 0, or "" for strings. */
  readonly padToken?: PadToken | undefined;
  /** The side on which places are added, in every dimension. Default `"right"`. */
  readonly paddingSide?: PaddingSide | undefined;
}

/** Options of `stack` and `concat`. */
export interface StackOptions extends PadOptions {
  /**
   * Rounds up the dimensions of the result after the first. A number applies only to the second
   * dimension (the length of a sequence); a list to each of them (1 does not change it). Default:
   * none.
   */
  readonly padToMultipleOf?: number | readonly number[] | undefined;
}

/**
 * Stacks tensors of one type and rank: n tensors of dims `[a, b]` become one of `[n, a, b]`.
 * Tensors of different sizes are padded to the longest.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an empty list, for tensors of
 * different types or ranks, and for a pad token that the type cannot hold.
 *
 * @example
 * ```ts
 * import { stack } from "batchwise/tensor";
 * const short = { type: "int64", data: BigInt64Array.of(1n), dims: [1] };
 * const long = { type: "int64", data: BigInt64Array.of(2n, 3n), dims: [2] };
 * stack([short, long], { padToken: 9 }); // dims [2, 2]; data 1n, 9n, 2n, 3n
 * ```
 */
export function stack<Given extends TensorLike>(tensors: readonly Given[], options?: StackOptions): Plain<Given> {
  const checked = checkAlike(tensors);
  return together(
    checked.map(({ type, data, dims }) => ({ type, data, dims: [1, ...dims] })),
    options,
  ) as unknown as Plain<Given>;
}

/**
 * Concatenates the rows of tensors of one type and rank: `[2, a]` and `[3, a]` become `[5, a]`.
 * Rows of different sizes are padded to the longest.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`, as {@link stack} does, and for a
 * tensor of rank 0.
 *
 * @example
 * ```ts
 * import { concat } from "batchwise/tensor";
 * const one = { type: "float32", data: Float32Array.of(1, 2), dims: [1, 2] };
 * const two = { type: "float32", data: Float32Array.of(3, 4, 5, 6), dims: [2, 2] };
 * concat([one, two]); // dims [3, 2]
 * ```
 */
export function concat<Given extends TensorLike>(tensors: readonly Given[], options?: StackOptions): Plain<Given> {
  const checked = checkAlike(tensors);
  for (const [index, tensor] of checked.entries()) checkRank(`tensors[${index}]`, tensor);
  return together(checked, options) as unknown as Plain<Given>;
}

/**
 * Splits a tensor of dims `[n, a, b]` into n tensors of `[a, b]`. They share its memory, so a
 * change in one is visible in the whole. A tensor of strings is copied.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for a tensor of rank 0.
 *
 * @example
 * ```ts
 * import { unstack } from "batchwise/tensor";
 * const scores = { type: "float32", data: Float32Array.of(1, 2, 3, 4), dims: [2, 2] };
 * const [first] = unstack(scores); // dims [2]; data 1, 2
 * ```
 */
export function unstack<Given extends TensorLike>(tensor: Given): Plain<Given>[] {
  const checked = checkTensor("tensor", tensor);
  checkRank("tensor", checked);
  const [rows = 0, ...dims] = checked.dims;
  return Array.from({ length: rows }, (_, row) => {
    const { type, data } = viewRows(checked, row, row + 1);
    return { type, data, dims: [...dims] } as unknown as Plain<Given>;
  });
}

/**
 * Enlarges a tensor: each dimension becomes that of `dims`. A tensor that already has these
 * dimensions shares its memory with the result; any other is copied.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` if a dimension is smaller than the
 * tensor's or the rank differs.
 *
 * @example
 * ```ts
 * import { pad } from "batchwise/tensor";
 * const ids = { type: "int32", data: Int32Array.of(1, 2), dims: [1, 2] };
 * pad(ids, [1, 4], { padToken: 7, paddingSide: "left" }); // data 7, 7, 1, 2
 * ```
 */
export function pad<Given extends TensorLike>(
  tensor: Given,
  dims: readonly number[],
  options: PadOptions = {},
): Plain<Given> {
  const { type, data, dims: own } = checkTensor("tensor", tensor);
  const fits =
    Array.isArray(dims) && dims.length === own.length && dims.every((dim, index) => isAtLeast(dim, own[index]));
  if (!fits)
    throw wrong("dims", `integers of at least ${textOf(own)}`, Array.isArray(dims) ? textOf(dims) : typeof dims);
  const padding = { side: checkPaddingSide(options.paddingSide), fill: fillFor({ type, data, dims: own }, options) };
  if (areEqual(own, dims)) return { type, data, dims: own } as unknown as Plain<Given>;
  const whole: Part = { tensor: { type, data, dims: [1, ...own] }, from: 0, to: 1 };
  const padded = join([whole], dims, padding);
  return { type, data: padded.data, dims: [...dims] } as unknown as Plain<Given>;
}

function isAtLeast(dim: number, least = 0): boolean {
  return Number.isSafeInteger(dim) && dim >= least;
}

function together(tensors: readonly Checked[], options: StackOptions = {}): Checked {
  const multiples = multiplesOf("padToMultipleOf", options.padToMultipleOf);
  const rowDims = roundedUp(largestOf(tensors.map(({ dims }) => dims.slice(1))), multiples);
  const parts = tensors.map((tensor) => ({ tensor, from: 0, to: tensor.dims[0] as number })) as unknown as [Part];
  return join(parts, rowDims, {
    side: checkPaddingSide(options.paddingSide),
    fill: fillFor(tensors[0] as Checked, options),
  });
}

function fillFor({ type, data }: Checked, { padToken }: PadOptions): number | bigint | string {
  if (padToken !== undefined) checkToken("padToken", padToken);
  return fillOf("padToken", type, data, padToken);
}

function checkAlike(tensors: readonly TensorLike[]): Checked[] {
  if (!Array.isArray(tensors)) throw wrong("tensors", "an array of tensors", typeof tensors);
  if (tensors.length === 0) throw invalidOption(RangeError, "Expected `tensors` to have at least one tensor, got none");
  const checked = tensors.map((tensor, index) => checkTensor(`tensors[${index}]`, tensor));
  const [first, ...others] = checked as [Checked, ...Checked[]];
  for (const [index, other] of others.entries()) checkIsLike(`tensors[${index + 1}]`, other, first);
  return checked;
}

/**
 * Throws unless two tensors can be parts of one: they have the same type, rank and kind of array.
 */
export function checkIsLike(name: string, tensor: Checked, first: Checked): void {
  if (tensor.type !== first.type) throw wrong(`${name}.type`, `${first.type} as the first`, tensor.type);
  const [tag, expected] = [tagOf(tensor.data), tagOf(first.data)];
  if (tag !== expected) throw wrong(`${name}.data`, `of class ${expected} as the first`, tag);
  const rank = first.dims.length;
  if (tensor.dims.length !== rank) throw wrong(`${name}.dims`, `of rank ${rank} as the first`, textOf(tensor.dims));
}

function checkRank(name: string, { dims }: Checked): void {
  if (dims.length === 0) throw wrong(`${name}.dims`, "of rank 1 or more", textOf(dims));
}
