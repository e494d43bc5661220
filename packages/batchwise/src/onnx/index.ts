// The public API of "batchwise/onnx": names only.

export { pipelineKey } from "./pipeline-call.ts";
export { pipelineCost } from "./pipeline-cost.ts";
export { pipelineHandler } from "./pipeline-handler.ts";
export type {
  CallOptions,
  Pipeline,
  PipelineCall,
  PipelineHandler,
  PipelineOptions,
  PipelineParts,
  QuestionCall,
  ReadCall,
  TensorPipeline,
} from "./pipeline-types.ts";
