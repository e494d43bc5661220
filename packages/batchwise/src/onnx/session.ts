// The members of onnxruntime's sessions and tensors that are used, as structural types:
// onnxruntime-node, onnxruntime-web and onnxruntime-react-native have them.

/** A model's input or output, as newer runtimes describe it. */
export interface OnnxValueInfo {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: string;
  /** Per dimension: a number if the size is fixed, a name if each call chooses it. */
  readonly shape?: readonly (number | string)[];
}

/** An `InferenceSession` of any onnxruntime. */
export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** If the runtime has it, inputs are checked before a run. */
  readonly inputMetadata?: readonly OnnxValueInfo[];
  run(
    feeds: Readonly<Record<string, never>>,
    fetches: readonly string[],
  ): PromiseLike<Readonly<Record<string, unknown>>>;
}

/** The class `Tensor` of any onnxruntime. */
export type OnnxTensorClass = new (type: never, data: never, dims: readonly number[]) => object;
