// The errors of the onnx layer: BatchwiseError with codes of its own, none of them retryable. A
// thread that dies fails its batch with THREAD_ENDED of the threads layer; what comes after `close`
// fails with CLOSED, as anywhere.

import { BatchwiseError, namelessError } from "../core/contract/errors.ts";

/**
 * `MODEL_LOAD`: the model, or onnxruntime itself, could not be loaded. `MODEL_INPUT`: the tensors
 * are not those that the model takes, a text is too long, or the tokenizer throws on it or takes
 * too long. `MODEL_FAILED`: the runtime failed on a batch, and would again. `MODEL_NOT_FINITE`: the
 * model gives a text a vector with NaN or an infinite number in it, or one of zeros, which cannot
 * be scaled to length 1; and would again.
 */
export type OnnxErrorCode = "MODEL_LOAD" | "MODEL_INPUT" | "MODEL_FAILED" | "MODEL_NOT_FINITE";

function errorOf(code: OnnxErrorCode, message: string, cause?: unknown): BatchwiseError {
  return namelessError(new BatchwiseError({ code, message, retryable: false, cause }));
}

export function modelLoadError(path: string, cause: unknown): BatchwiseError {
  return errorOf("MODEL_LOAD", `Cannot load ${path}: ${messageOf(cause)}`, cause);
}

/**
 * Why a model could not be opened: a plain error becomes one with a code, and any other stays as it
 * is.
 */
export function openError(cause: unknown): unknown {
  const isPlain = cause instanceof Error && cause.constructor === Error;
  return isPlain ? errorOf("MODEL_LOAD", cause.message, cause.cause) : cause;
}

/** What \`import()\` and what \`require\` say of a package that is not installed. */
function isNotFound(cause: unknown): boolean {
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}

/** Where `onnxruntime-node` is not there, or is there without what it needs. */
export function runtimeLoadError(cause: unknown): BatchwiseError {
  const isMissing = isNotFound(cause);
  const message = isMissing
    ? "Models run with onnxruntime-node, which is not installed. Run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1` (`skip` leaves out libraries for GPUs, which come from another host)"
    : `Models run with onnxruntime-node, which cannot be loaded: ${messageOf(cause)}`;
  return errorOf("MODEL_LOAD", message, cause);
}

/** Where `@huggingface/tokenizers` is not there, or is there without what it needs. */
export function tokenizersLoadError(cause: unknown): BatchwiseError {
  const isMissing = isNotFound(cause);
  const message = isMissing
    ? "A tokenizer.json is read with @huggingface/tokenizers, which is not installed. Run `npm install @huggingface/tokenizers`"
    : `A tokenizer.json is read with @huggingface/tokenizers, which cannot be loaded: ${messageOf(cause)}`;
  return errorOf("MODEL_LOAD", message, cause);
}

export function modelInputError(message: string, cause?: unknown): BatchwiseError {
  return errorOf("MODEL_INPUT", message, cause);
}

/** `name` is the text's place in its call. */
export function tokenizerFailedError(name: string, cause: unknown): BatchwiseError {
  return modelInputError(`The tokenizer failed on \`${name}\`: ${messageOf(cause)}`, cause);
}

export function modelFailedError(cause: unknown): BatchwiseError {
  return errorOf("MODEL_FAILED", messageOf(cause), cause);
}

export function notFiniteError(): BatchwiseError {
  return errorOf("MODEL_NOT_FINITE", "The model gave a vector with NaN or an infinite number in it");
}

export function zeroVectorError(): BatchwiseError {
  return errorOf("MODEL_NOT_FINITE", "The model gave a vector of zeros, which cannot be scaled to length 1");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
