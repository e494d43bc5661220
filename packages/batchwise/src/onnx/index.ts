// The public API of "batchwise/onnx": names only. Bundlers for browsers and React Native use
// browser.ts instead.

export { availableCores } from "./cores.ts";
export type { OnnxErrorCode } from "./errors.ts";
export type { ModelThreadsOptions } from "./model-threads.ts";
export { type OnnxHandler, type OnnxHandlerOptions, onnxHandler } from "./onnx-handler.ts";
export { type OnnxModel, type OnnxModelOptions, onnxModel } from "./onnx-model.ts";
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
export type { OnnxSession, OnnxTensorClass, OnnxValueInfo } from "./session.ts";
export type {
  EmbedderOptions,
  EmbedOptions,
  TextEmbedder,
  TextModelDescription,
  Vector,
} from "./text/embedder-types.ts";
export type { ModelFileOptions, TextModel } from "./text/model-folder/model-files.ts";
export { openEmbedder } from "./text/open-embedder.ts";
export { normalize } from "./text/pooling.ts";
export { POOLINGS, type Pooling } from "./text/readout.ts";
export type { SpecialTokens } from "./text/special-tokens.ts";
export type { TokenizeOptions } from "./text/tokenize-all.ts";
export type { TokenCount, Tokenizer } from "./text/tokenizer.ts";
