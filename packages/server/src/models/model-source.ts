/**
 * From the user's options to a model on disk with its tokenizer: the built-in one, or a file of theirs.
 *
 * Guarantees: says which file is missing; a model's limit comes from its own files when they name one.
 * Does not download anything.
 */

import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { DEFAULT_ENCODER, type EncoderConfig } from "./encoder-model.ts";
import { hashingTokenizer } from "./hashing-tokenizer.ts";
import { loadHuggingFaceTokenizer } from "./huggingface-tokenizer.ts";
import { isRecord, readJsonIfPresent } from "./json-file.ts";
import { cachedEncoder, defaultModelDirectory } from "./model-cache.ts";
import { MEAN_READOUT, type Pooling, type Readout } from "./readout.ts";
import { readReadout } from "./sentence-modules.ts";
import { readLimits } from "./token-limit.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ModelOptions {
  /** An .onnx file, or a folder with `model.onnx` or `onnx/model.onnx`. Unset: the built-in model. */
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

export interface ModelSource {
  readonly name: string;
  readonly path: string;
  readonly tokenizer: Tokenizer;
  readonly maxTokens: number;
  /** The position of a text's first token, for graphs that are told positions. */
  readonly firstPosition: number;
  readonly readout: Readout;
  /** How many labels its config.json names, where it does: those of a classifier. */
  readonly labels?: number;
  /** How many ids its config.json says that it takes. */
  readonly vocabulary?: number;
  /** What sentence-transformers would put before every text. */
  readonly defaultPrompt?: string;
  /** True for the generated model with random weights. */
  readonly builtIn: boolean;
}

export const BUILT_IN_MODEL_NAME = "batchwise-demo";

const FALLBACK_MAX_TOKENS = 512;

export async function resolveModel(options: ModelOptions): Promise<ModelSource> {
  return options.model === undefined ? builtInModel(options) : userModel(options, resolve(options.model));
}

async function builtInModel(options: ModelOptions): Promise<ModelSource> {
  if (options.tokenizer !== undefined) {
    throw new Error("A tokenizer was given without a model; the built-in model has a tokenizer of its own");
  }
  if (options.pooling !== undefined) {
    throw new Error("A way of pooling was named without a model; the built-in model pools by itself");
  }
  const config: EncoderConfig = { ...DEFAULT_ENCODER, ...options.encoder };
  const directory = options.modelDirectory ?? defaultModelDirectory();
  const { path } = await cachedEncoder(directory, config).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot keep the built-in model in ${directory}: ${reason}; name another folder`, { cause: error });
  });
  return {
    name: options.modelName ?? BUILT_IN_MODEL_NAME,
    path,
    tokenizer: hashingTokenizer(config.vocabulary),
    maxTokens: Math.min(options.maxTokens ?? config.maxTokens, config.maxTokens),
    firstPosition: 0,
    readout: MEAN_READOUT,
    builtIn: true,
  };
}

async function userModel(options: ModelOptions, given: string): Promise<ModelSource> {
  const path = (await firstFile([given, join(given, "model.onnx"), join(given, "onnx", "model.onnx")])) ?? "";
  if (path === "") throw new Error(`There is no model at ${given}; expected an .onnx file or a folder with model.onnx`);
  const folders = [dirname(path), dirname(dirname(path))];
  const tokenizerPath = options.tokenizer ?? (await firstFile(folders.map((folder) => join(folder, "tokenizer.json"))));
  if (tokenizerPath === undefined) {
    throw new Error(`There is no tokenizer.json beside ${path}; name it with --tokenizer`);
  }
  const plain = await loadHuggingFaceTokenizer(resolve(tokenizerPath));
  const { do_lower_case: lowers } = await firstJson(folders, "sentence_bert_config.json");
  const tokenizer = lowers === true ? lowering(plain) : plain;
  const limits = await readLimits(folders);
  const maxTokens = options.maxTokens ?? limits.maxTokens ?? FALLBACK_MAX_TOKENS;
  const readout = await readReadout(folders, options.pooling);
  const config = await firstJson(folders, "config.json");
  return {
    name: options.modelName ?? nameFrom(path),
    path,
    tokenizer,
    maxTokens,
    firstPosition: limits.firstPosition,
    readout,
    ...(isRecord(config.id2label) ? { labels: Object.keys(config.id2label).length } : {}),
    ...(typeof config.vocab_size === "number" ? { vocabulary: config.vocab_size } : {}),
    ...defaultPromptIn(await firstJson(folders, "config_sentence_transformers.json")),
    builtIn: false,
  };
}

/** As sentence-transformers has it where the tokenizer leaves case alone. */
function lowering(tokenizer: Tokenizer): Tokenizer {
  return { ...tokenizer, encode: (text) => tokenizer.encode(text.toLowerCase()) };
}

async function firstJson(folders: readonly string[], name: string): Promise<Record<string, unknown>> {
  for (const folder of folders) {
    const config = await readJsonIfPresent(join(folder, name));
    if (config !== undefined) return config;
  }
  return {};
}

function defaultPromptIn({ prompts, default_prompt_name: name }: Record<string, unknown>): { defaultPrompt?: string } {
  const prompt = isRecord(prompts) && typeof name === "string" ? prompts[name] : undefined;
  return typeof prompt === "string" ? { defaultPrompt: prompt } : {};
}

/** `all-minilm` for all-minilm.onnx, all-minilm/model.onnx and all-minilm/onnx/model.onnx. */
function nameFrom(path: string): string {
  const file = basename(path, ".onnx");
  if (file !== "model") return file;
  const folder = dirname(path);
  return basename(basename(folder) === "onnx" ? dirname(folder) : folder) || file;
}

async function firstFile(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) return path;
  }
  return undefined;
}
