// "batchwise/onnx" for browsers and React Native: what needs no threads of Node.js.

export { onnxHandler } from "./onnx-handler.ts";
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
