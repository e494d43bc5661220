// The public API of "batchwise/tensor": names only.

export type { HandlerDefaults } from "../core/contract/handler-defaults.ts";
export type { TensorForm } from "./batch-input.ts";
export {
  batchTensors,
  type TensorBatcher,
  type TensorFunction,
  type TensorHandlerObject,
} from "./batch-tensors.ts";
export type { CopyOutputs, ResolvedTensorOptions, TensorBatchOptions } from "./options.ts";
export { concat, type PadOptions, pad, type StackOptions, stack, unstack } from "./stack.ts";
export type {
  Features,
  FeaturesOf,
  Outputs,
  OutputsOf,
  PaddingSide,
  PadToken,
  Plain,
  ResultOf,
  Tensor,
  TensorDataOf,
  TensorLike,
  TensorType,
} from "./types.ts";
