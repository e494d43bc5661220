// "batchwise/onnx" for browsers and React Native: what needs no threads of Node.js.

export { onnxHandler } from "./onnx-handler.ts";
