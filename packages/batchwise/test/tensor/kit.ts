// What the tests of tensors share: small tensors, written down as lists.

import type { Tensor, TensorLike, TensorType } from "batchwise/tensor";

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  bool: Uint8Array,
};

/** A tensor of this type. Its dims are those of the nested lists unless they are given. */
export function tensor<Type extends TensorType>(
  type: Type,
  nested: unknown,
  dims: number[] = dimsOf(nested),
): Tensor<Type> {
  const flat = ([nested] as unknown[]).flat(20);
  return { type, data: dataOf(type, flat), dims } as Tensor<Type>;
}

function dataOf(type: TensorType, flat: readonly unknown[]): unknown {
  if (type === "string") return flat.map(String);
  if (type === "int64") return BigInt64Array.from(flat.map((value) => BigInt(value as number)));
  if (type === "uint64") return BigUint64Array.from(flat.map((value) => BigInt(value as number)));
  return ARRAYS[type].from(flat.map(Number));
}

function dimsOf(nested: unknown): number[] {
  return Array.isArray(nested) ? [nested.length, ...dimsOf(nested[0])] : [];
}

export function int64(nested: unknown, dims?: number[]): Tensor<"int64"> {
  return tensor("int64", nested, dims);
}

export function float32(nested: unknown, dims?: number[]): Tensor<"float32"> {
  return tensor("float32", nested, dims);
}

/** A tensor as nested lists; whole numbers of 64 bits as plain ones. */
export function lists({ data, dims }: TensorLike): unknown {
  const flat = Array.from(data, (value) => (typeof value === "bigint" ? Number(value) : value));
  const nest = (level: number, at: number): unknown => {
    const stride = dims.slice(level + 1).reduce((size, dim) => size * dim, 1);
    if (level === dims.length) return flat[at];
    return Array.from({ length: dims[level] as number }, (_, index) => nest(level + 1, at + index * stride));
  };
  return nest(0, 0);
}

/** The input with each element doubled. */
export function doubled<Given extends TensorLike>(given: Given): Given {
  const data = given.data as unknown as { map(callback: (value: never) => never): never };
  return { ...given, data: data.map((value: never) => ((value as number) + (value as number)) as never) };
}

/** The sum of each row: a tensor of rank 1. */
export function sums({ type, data, dims: [rows = 0] }: TensorLike): TensorLike {
  const size = data.length / rows;
  const values = Array.from(data, Number);
  const totals = Array.from({ length: rows }, (_, row) =>
    values.slice(row * size, (row + 1) * size).reduce((total, value) => total + value, 0),
  );
  return tensor(type as TensorType, totals);
}

/** What a recording handler was given: the features of each batch as nested lists. */
export interface Recorded {
  readonly batches: Record<string, unknown>[];
  readonly dims: Record<string, readonly number[]>[];
}

/** A handler's features, noted down. */
export function note(of: Recorded, features: Readonly<Record<string, TensorLike>>): void {
  of.batches.push(Object.fromEntries(Object.entries(features).map(([name, value]) => [name, lists(value)])));
  of.dims.push(Object.fromEntries(Object.entries(features).map(([name, { dims }]) => [name, dims])));
}
