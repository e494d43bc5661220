// The public API of "batchwise/onnx": names only. Bundlers for browsers and React Native take browser.ts instead.

export { availableCores } from "./cores.ts";
export type { OnnxErrorCode } from "./errors.ts";
export { type OnnxHandler, type OnnxHandlerOptions, onnxHandler } from "./onnx-handler.ts";
export { type OnnxModel, type OnnxModelOptions, onnxModel } from "./onnx-model.ts";
export type { OnnxSession, OnnxTensorClass, OnnxValueInfo } from "./session.ts";
