/**
 * The model that the service runs: a file of the user's, or the built-in one.
 *
 * Guarantees: the built-in model is written where it is not there yet; what does not go with it is
 * refused. Does not download anything.
 */

import type { ModelFileOptions, Pooling } from "batchwise/onnx";
import { DEFAULT_ENCODER, type EncoderConfig } from "./encoder-model.ts";
import { hashingTokenizer } from "./hashing-tokenizer.ts";
import { type CachedModel, cachedEncoder, defaultModelDirectory } from "./model-cache.ts";

export interface ModelOptions {
  /**
   * An .onnx file, or a folder with `model.onnx` or `onnx/model.onnx`. Unset: the built-in model.
   */
  readonly model?: string;
  /** The model's `tokenizer.json`. Unset: beside the model, or one folder up. */
  readonly tokenizer?: string;
  /** Where the built-in model is kept. */
  readonly modelDirectory?: string;
  /** The name that callers ask for. */
  readonly modelName?: string;
  /** Longest text in tokens, marks included. */
  readonly maxTokens?: number;
  /** How the vectors of tokens become one; in place of what the model's files say. */
  readonly pooling?: Pooling;
  /** Shape of the built-in model; tests and benchmarks use larger ones. */
  readonly encoder?: Partial<EncoderConfig>;
}

export const BUILT_IN_MODEL_NAME = "batchwise-demo";

export async function resolveModel(options: ModelOptions): Promise<ModelFileOptions> {
  const { model, modelName: name, tokenizer, maxTokens, pooling } = options;
  return model === undefined ? builtInModel(options) : { model, name, tokenizer, maxTokens, pooling };
}

async function builtInModel(options: ModelOptions): Promise<ModelFileOptions> {
  if (options.tokenizer !== undefined) {
    throw new Error("A tokenizer was given without a model; the built-in model has a tokenizer of its own");
  }
  if (options.pooling !== undefined) {
    throw new Error("A way of pooling was named without a model; the built-in model pools by itself");
  }
  const config: EncoderConfig = { ...DEFAULT_ENCODER, ...options.encoder };
  const { path } = await keptEncoder(options, config).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot keep the built-in model: ${reason}; name a folder with --model-dir`, { cause: error });
  });
  return {
    name: options.modelName ?? BUILT_IN_MODEL_NAME,
    model: { path, tokenizer: hashingTokenizer(config.vocabulary), maxTokens: config.maxTokens },
    maxTokens: options.maxTokens,
  };
}

/** Rejects also where the user has no home folder. */
async function keptEncoder({ modelDirectory }: ModelOptions, config: EncoderConfig): Promise<CachedModel> {
  return cachedEncoder(modelDirectory ?? defaultModelDirectory(), config);
}
