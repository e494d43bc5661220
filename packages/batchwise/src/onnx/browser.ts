// "batchwise/onnx" for browsers and React Native: the part that needs no threads of Node.js.

export { onnxHandler } from "./onnx-handler.ts";
export { pipelineKey } from "./pipelines/call.ts";
export { pipelineCost } from "./pipelines/cost.ts";
export { pipelineHandler } from "./pipelines/handler.ts";
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
} from "./pipelines/types.ts";
