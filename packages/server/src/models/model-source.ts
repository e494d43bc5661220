/**
 * The model that the service runs: the user's file, or the built-in model.
 *
 * Guarantees: the built-in model is written if it does not exist yet. Options that do not apply to
 * it are refused. Does not download anything.
 */

import type { ModelFileOptions, Pooling } from "batchwise/onnx";
import { DEFAULT_ENCODER, type EncoderConfig } from "./encoder-model.ts";
import { hashingTokenizer } from "./hashing-tokenizer.ts";
import { type CachedModel, cachedEncoder, defaultModelDirectory } from "./model-cache.ts";

export interface ModelOptions {
  /**
   * An .onnx file, or a folder with `model.onnx` or `onnx/model.onnx`. Default: the built-in model.
   */
  readonly model?: string;
  /** The model's `tokenizer.json`. Default: beside the model, or one folder up. */
  readonly tokenizer?: string;
  /** The folder of the built-in model. */
  readonly modelDirectory?: string;
  /** The model's name in requests. */
  readonly modelName?: string;
  /** Longest text in tokens, special tokens included. */
  readonly maxTokens?: number;
  /** How the vectors of tokens become one; overrides the model's files. */
  readonly pooling?: Pooling;
  /** Dimensions of the built-in model; tests and benchmarks use larger ones. */
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

/** Also rejects if the user has no home folder. */
async function keptEncoder({ modelDirectory }: ModelOptions, config: EncoderConfig): Promise<CachedModel> {
  return cachedEncoder(modelDirectory ?? defaultModelDirectory(), config);
}
