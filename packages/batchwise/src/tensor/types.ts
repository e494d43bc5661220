// The types of tensors, structurally compatible with onnxruntime and transformers.js: a tensor of
// either library is one of these.

/**
 * The array that holds the elements of each type, in row-major order. A bool is a byte of 0 or 1.
 */
export interface TensorDataOf {
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  /** The bits of each number. A `Float16Array` is accepted, too, if the platform has it. */
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

/** Any object with the members of a tensor. Their values are checked when they are used. */
export interface TensorLike {
  readonly type: string;
  readonly data: ArrayLike<unknown>;
  readonly dims: readonly number[];
}

/**
 * The tensors of a call, by name. The first of each tensor's `dims` is the number of rows, which is
 * the same for all.
 */
export type Features = Readonly<Record<string, TensorLike>>;

/**
 * The return value of a handler: one tensor, a list, or a record of them, each with one row per
 * input row.
 */
export type Outputs = TensorLike | readonly TensorLike[] | Features;

/** A record of tensors, as a type or an interface with its own names. */
export type FeaturesOf<Inputs> = { readonly [Name in keyof Inputs]: TensorLike | undefined };

/** The return types of a handler, for a type or an interface with its own names. */
export type OutputsOf<Output> = TensorLike | readonly TensorLike[] | FeaturesOf<Output>;

/** Only the members of a tensor. */
export interface Plain<Given extends TensorLike> {
  readonly type: Given["type"];
  readonly data: Given["data"];
  readonly dims: readonly number[];
}

/** A caller's result for an answer of type `Given`: the same form, with plain tensors. */
export type ResultOf<Given> = Given extends TensorLike
  ? Plain<Given>
  : { [Name in keyof Given]: Given[Name] extends TensorLike ? Plain<Given[Name]> : Given[Name] };

/** The value of padded places. For float16 a number, in either kind of array. */
export type PadToken = number | bigint | boolean | string;

/** The side on which short rows are padded. */
export type PaddingSide = "right" | "left";
