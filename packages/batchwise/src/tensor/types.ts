// The shapes of tensors, structurally those of onnxruntime and transformers.js: a tensor of either
// is one of these.

/** Which array holds the elements of each type, in row-major order. A bool is a byte of 0 or 1. */
export interface TensorDataOf {
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  /** The bits of each number. A `Float16Array` is taken too, where the platform has it. */
  readonly float16: Uint16Array;
  readonly int8: Int8Array;
  readonly int16: Int16Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly uint8: Uint8Array;
  readonly uint16: Uint16Array;
  readonly uint32: Uint32Array;
  readonly uint64: BigUint64Array;
  readonly bool: Uint8Array;
  readonly string: string[];
}

/** The element types of ONNX that a tensor may have. */
export type TensorType = keyof TensorDataOf;

/** A tensor of a known type. `data` has as many elements as the product of `dims`. */
export interface Tensor<Type extends TensorType = TensorType> {
  readonly type: Type;
  readonly data: TensorDataOf[Type];
  readonly dims: readonly number[];
}

/** Anything that has the members of a tensor. What they hold is checked when it is used. */
export interface TensorLike {
  readonly type: string;
  readonly data: ArrayLike<unknown>;
  readonly dims: readonly number[];
}

/**
 * The tensors of a call, by name. The first of each tensor's `dims` is the number of rows, the same
 * for all of them.
 */
export type Features = Readonly<Record<string, TensorLike>>;

/**
 * What a handler returns: one tensor, a list, or a record of them, each with a row for each row
 * that it was given.
 */
export type Outputs = TensorLike | readonly TensorLike[] | Features;

/** A record of tensors, as a type or an interface with names of its own. */
export type FeaturesOf<Inputs> = { readonly [Name in keyof Inputs]: TensorLike | undefined };

/** The same of what a handler returns. */
export type OutputsOf<Output> = TensorLike | readonly TensorLike[] | FeaturesOf<Output>;

/** The members of a tensor and nothing else. */
export interface Plain<Given extends TensorLike> {
  readonly type: Given["type"];
  readonly data: Given["data"];
  readonly dims: readonly number[];
}

/** What a caller gets of `Given`: the same shape, with plain tensors. */
export type ResultOf<Given> = Given extends TensorLike
  ? Plain<Given>
  : { [Name in keyof Given]: Given[Name] extends TensorLike ? Plain<Given[Name]> : Given[Name] };

/**
 * What stands where one row is shorter than another. For float16 a number, whichever array holds
 * it.
 */
export type PadToken = number | bigint | boolean | string;

/** The side on which short rows are filled up. */
export type PaddingSide = "right" | "left";
