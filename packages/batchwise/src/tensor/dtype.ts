// Describes each element type: the arrays that may hold it, and the value of a pad token in them.
// Recognises arrays by their tag, so arrays of another realm are accepted, and a Buffer counts as
// the Uint8Array that it is.

import { describe } from "../core/contract/errors.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { float16Bits } from "./float16.ts";
import type { PadToken } from "./types.ts";

/** The common members of the typed arrays. */
interface NumberArray extends ArrayLike<number | bigint> {
  readonly length: number;
  set(source: ArrayLike<never>, offset?: number): void;
  fill(value: never, start?: number, end?: number): unknown;
  subarray(start: number, end: number): NumberArray;
}

/** The elements of a tensor. */
export type Data = NumberArray | string[];

type Fill = number | bigint | string;

interface Kind {
  /** The tags of the arrays that may hold it. */
  readonly arrays: readonly string[];
  readonly least: number | bigint;
  readonly most: number | bigint;
}

const unbounded = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };

const KINDS: Readonly<Record<string, Kind>> = {
  float32: { arrays: ["Float32Array"], ...unbounded },
  float64: { arrays: ["Float64Array"], ...unbounded },
  float16: { arrays: ["Uint16Array", "Float16Array"], ...unbounded },
  int8: { arrays: ["Int8Array"], least: -0x80, most: 0x7f },
  int16: { arrays: ["Int16Array"], least: -0x8000, most: 0x7fff },
  int32: { arrays: ["Int32Array"], least: -0x8000_0000, most: 0x7fff_ffff },
  int64: { arrays: ["BigInt64Array"], least: -(2n ** 63n), most: 2n ** 63n - 1n },
  uint8: { arrays: ["Uint8Array"], least: 0, most: 0xff },
  uint16: { arrays: ["Uint16Array"], least: 0, most: 0xffff },
  uint32: { arrays: ["Uint32Array"], least: 0, most: 0xffff_ffff },
  uint64: { arrays: ["BigUint64Array"], least: 0n, most: 2n ** 64n - 1n },
  bool: { arrays: ["Uint8Array"], least: 0, most: 1 },
  string: { arrays: ["Array"], ...unbounded },
};

export const TYPE_NAMES: readonly string[] = Object.keys(KINDS);

/** The arrays that may hold elements of a type; undefined for an unknown type. */
export function arraysOf(type: string): readonly string[] | undefined {
  return Object.hasOwn(KINDS, type) ? KINDS[type]?.arrays : undefined;
}

/**
 * The name of the array that a value is: "Float32Array", "Array"; another string if it is not an
 * array.
 */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

type Constructor = new (length: number) => NumberArray;

/** A new array of the type of `data`, with `length` elements: zeros, or `fill` if it is given. */
export function allocate(data: Data, length: number, fill?: Fill): Data {
  if (Array.isArray(data)) return new Array<string>(length).fill(fill === undefined ? "" : String(fill));
  // By the tag, not the constructor: Node allocates a Buffer from a shared pool.
  const make = (globalThis as unknown as Readonly<Record<string, Constructor>>)[tagOf(data)] as Constructor;
  const array = new make(length);
  if (fill !== undefined && !Object.is(fill, 0) && fill !== 0n) array.fill(fill as never);
  return array;
}

/** Copies `count` elements from one array to another of the same type. */
export function copyElements(target: Data, at: number, source: Data, from: number, count: number): void {
  if (Array.isArray(source)) {
    for (let index = 0; index < count; index += 1) (target as string[])[at + index] = source[from + index] as string;
  } else {
    const part = count === source.length ? source : source.subarray(from, from + count);
    (target as NumberArray).set(part as never, at);
  }
}

/**
 * The value with which to fill an array of this type. Throws INVALID_OPTION if the type cannot hold
 * the token exactly (a float type rounds it).
 */
export function fillOf(name: string, type: string, data: Data, token: PadToken | undefined): Fill {
  const { least, most } = KINDS[type] as Kind;
  if (type === "string") {
    if (token === undefined || typeof token === "string") return token ?? "";
    throw unfit(name, "a string", token);
  }
  const value = typeof token === "boolean" ? Number(token) : (token ?? 0);
  if (typeof value === "string") throw unfit(name, `a number for a tensor of ${type}`, token);
  if (least === Number.NEGATIVE_INFINITY) {
    return tagOf(data) === "Uint16Array" ? float16Bits(Number(value)) : Number(value);
  }
  const isWhole = typeof value === "bigint" || Number.isInteger(value);
  if (!isWhole || value < least || value > most) {
    throw unfit(name, `an integer from ${least} to ${most} for a tensor of ${type}`, token);
  }
  return typeof least === "bigint" ? BigInt(value) : Number(value);
}

function unfit(name: string, expected: string, token: unknown): Error {
  return invalidOption(RangeError, `Expected \`${name}\` to be ${expected}, got ${describe(token)}`);
}
