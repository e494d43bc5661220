// Dimensions, and the check that turns a user's value into a plain tensor.

import { countOf, describe } from "../core/contract/errors.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { arraysOf, type Data, TYPE_NAMES, tagOf } from "./dtype.ts";

/**
 * A checked tensor: `data` is the right array for `type` and has as many elements as `dims` says.
 */
export interface Checked {
  readonly type: string;
  readonly data: Data;
  readonly dims: readonly number[];
}

/** The number of elements. */
export function sizeOf(dims: readonly number[]): number {
  let size = 1;
  for (const dim of dims) size *= dim;
  return size;
}

export function areEqual(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}

/** The smallest dimensions that hold all of these, which have the same rank. */
export function largestOf(all: readonly (readonly number[])[]): number[] {
  const largest = [...(all[0] ?? [])];
  for (const dims of all) {
    for (let index = 0; index < dims.length; index += 1) {
      largest[index] = Math.max(largest[index] as number, dims[index] as number);
    }
  }
  return largest;
}

/** Dimensions rounded up to multiples; a dimension without a multiple does not change. */
export function roundedUp(dims: readonly number[], multiples: readonly number[]): number[] {
  return dims.map((dim, index) => {
    const multiple = multiples[index] ?? 1;
    return Math.ceil(dim / multiple) * multiple;
  });
}

export function textOf(dims: readonly number[]): string {
  return `[${dims.join(", ")}]`;
}

/** True for a value that looks like a tensor: no record of tensors has a list under `dims`. */
export function isTensor(value: unknown): boolean {
  return typeof value === "object" && value !== null && Array.isArray((value as { dims?: unknown }).dims);
}

/**
 * Reads each member of a tensor once. Throws INVALID_OPTION, which names the expected and the
 * actual value.
 */
export function checkTensor(name: string, value: unknown): Checked {
  if (typeof value !== "object" || value === null) throw wrong(name, "a tensor { type, data, dims }", describe(value));
  const { type, data, dims } = value as { type?: unknown; data?: unknown; dims?: unknown };
  const arrays = typeof type === "string" ? arraysOf(type) : undefined;
  if (arrays === undefined) throw wrong(`${name}.type`, `one of ${TYPE_NAMES.join(", ")}`, describe(type));
  const tag = tagOf(data);
  if (!arrays.includes(tag)) throw wrong(`${name}.data`, `of class ${arrays.join(" or ")} for ${type}`, tag);
  if (!isDims(dims)) throw wrong(`${name}.dims`, "an array of integers >= 0", describe(dims));
  checkLength(name, data as Data, dims);
  return { type: type as string, data: data as Data, dims: [...dims] };
}

/** Throws if the data does not fill the dimensions, as after a transfer to another thread. */
export function checkLength(name: string, data: Data, dims: readonly number[]): void {
  const size = sizeOf(dims);
  if (data.length === size) return;
  const message = `Expected \`${name}.data\` to have ${countOf(size, "element")} for dims ${textOf(dims)}, got ${data.length}`;
  throw invalidOption(RangeError, message);
}

function isDims(dims: unknown): dims is readonly number[] {
  return Array.isArray(dims) && dims.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
}

export function wrong(name: string, expected: string, came: string): Error {
  return invalidOption(TypeError, `Expected \`${name}\` to be ${expected}, got ${came}`);
}
