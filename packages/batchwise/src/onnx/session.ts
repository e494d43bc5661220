// What is used of onnxruntime's sessions and tensors, structurally: those of onnxruntime-node,
// onnxruntime-web and onnxruntime-react-native have these members.

/** A model's input or output as newer runtimes describe it. */
export interface OnnxValueInfo {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: string;
  /** A number where the size is fixed, a name where each call chooses it. */
  readonly shape?: readonly (number | string)[];
}

/** An `InferenceSession` of any onnxruntime. */
export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  /** Where the runtime has it, inputs are checked before a run. */
  readonly inputMetadata?: readonly OnnxValueInfo[];
  run(
    feeds: Readonly<Record<string, never>>,
    fetches: readonly string[],
  ): PromiseLike<Readonly<Record<string, unknown>>>;
}

/** The class `Tensor` of any onnxruntime. */
export type OnnxTensorClass = new (type: never, data: never, dims: readonly number[]) => object;
