// The errors of the onnx layer: BatchwiseError with its own codes, none of them retryable. If a
// thread dies, its batch fails with THREAD_ENDED of the threads layer. A call after `close` fails
// with CLOSED, as everywhere.

import { BatchwiseError, namelessError } from "../core/contract/errors.ts";

/**
 * `MODEL_LOAD`: the model, or onnxruntime itself, could not be loaded. `MODEL_INPUT`: the tensors
 * do not match the model's inputs, a text is too long, or the tokenizer throws on it or takes too
 * long. `MODEL_FAILED`: the runtime failed on a batch, and would fail again. `MODEL_NOT_FINITE`:
 * the model gives a text a vector that contains NaN or an infinite number, or a vector of zeros,
 * which cannot be scaled to length 1; it would do so again.
 */
export type OnnxErrorCode = "MODEL_LOAD" | "MODEL_INPUT" | "MODEL_FAILED" | "MODEL_NOT_FINITE";

function errorOf(code: OnnxErrorCode, message: string, cause?: unknown): BatchwiseError {
  return namelessError(new BatchwiseError({ code, message, retryable: false, cause }));
}

export function modelLoadError(path: string, cause: unknown): BatchwiseError {
  return errorOf("MODEL_LOAD", `Cannot load ${path}: ${messageOf(cause)}`, cause);
}

/** Gives a plain error of opening a model a code; returns any other error as it is. */
export function openError(cause: unknown): unknown {
  const isPlain = cause instanceof Error && cause.constructor === Error;
  return isPlain ? errorOf("MODEL_LOAD", cause.message, cause.cause) : cause;
}

/** Matches the messages of \`import()\` and of \`require\` for a package that is not installed. */
function isNotFound(cause: unknown): boolean {
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}

/** The error for an `onnxruntime-node` that is not installed, or lacks a needed part. */
export function runtimeLoadError(cause: unknown): BatchwiseError {
  const isMissing = isNotFound(cause);
  const message = isMissing
    ? "Models run with onnxruntime-node, which is not installed. Run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@1` (`skip` leaves out libraries for GPUs, which come from another host)"
    : `Models run with onnxruntime-node, which cannot be loaded: ${messageOf(cause)}`;
  return errorOf("MODEL_LOAD", message, cause);
}

/** The error for a `@huggingface/tokenizers` that is not installed, or lacks a needed part. */
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

/** `name`: the text's place in its call. */
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
