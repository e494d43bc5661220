/**
 * Finds a model on disk, and its tokenizer, from the user's options.
 *
 * Guarantees: an error says which file is missing. A model's limit comes from its own files if they
 * name one. Does not download anything.
 */

import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { loadHuggingFaceTokenizer, type TokenizerFile } from "../huggingface-tokenizer.ts";
import { MEAN_READOUT, type Pooling, type Readout } from "../readout.ts";
import { readLimits, tooLong } from "../token-limit.ts";
import type { Tokenizer } from "../tokenizer.ts";
import { isRecord, readJsonIfPresent } from "./json-file.ts";
import { readReadout } from "./sentence-modules.ts";

/** A model described by the user instead of by files beside it. */
export interface TextModel {
  /** The .onnx file. */
  readonly path: string;
  readonly tokenizer: Tokenizer;
  /** Longest text in tokens, special tokens included. */
  readonly maxTokens: number;
  /** How the vectors of tokens become one, if the graph does not pool. Default: their mean. */
  readonly pooling?: Pooling;
  /** The position of a text's first token, for graphs with an input `position_ids`. Default 0. */
  readonly firstPosition?: number;
}

/** The paths of a model's files. */
export interface ModelFileOptions {
  /**
   * An .onnx file, or a folder with `model.onnx` or `onnx/model.onnx`, as sentence-transformers and
   * optimum export it, or a description.
   */
  readonly model: string | TextModel;
  /** The model's `tokenizer.json`. Default: beside the model, or one folder up. */
  readonly tokenizer?: string | undefined;
  /** A name for statistics and messages. Default: the name of the file or its folder. */
  readonly name?: string | undefined;
  /**
   * Longest text in tokens, special tokens included. Default: the smallest limit in the model's
   * files; if they have none, 512 or the model's maximum, whichever is less. A limit above the
   * model's maximum is refused.
   */
  readonly maxTokens?: number | undefined;
  /** How the vectors of tokens become one; overrides the model's files. */
  readonly pooling?: Pooling | undefined;
}

export interface ModelSource {
  readonly name: string;
  readonly path: string;
  readonly tokenizer: Tokenizer;
  /** The tokenizer's file, for threads. Undefined for a tokenizer that is an object. */
  readonly tokenizerFile?: TokenizerFile;
  readonly maxTokens: number;
  /** True if the user set `maxTokens`. */
  readonly isLimitAsked: boolean;
  /** Number of positions by its config.json. */
  readonly positions?: number | undefined;
  /** The position of a text's first token, for graphs with an input for positions. */
  readonly firstPosition: number;
  readonly readout: Readout;
  /** Number of labels in its config.json, if any: then it is a classifier. */
  readonly labels?: number;
  /** Number of token ids by its config.json. */
  readonly vocabulary?: number;
  /** The prompt that sentence-transformers would put before every text. */
  readonly defaultPrompt?: string;
}

const FALLBACK_MAX_TOKENS = 512;

export async function resolveModel(options: ModelFileOptions): Promise<ModelSource> {
  const { model } = options;
  return typeof model === "string" ? readModel(options, resolve(model)) : describedModel(options, model);
}

function describedModel(options: ModelFileOptions, model: TextModel): ModelSource {
  const { path, tokenizer, pooling = options.pooling, firstPosition = 0 } = model;
  const { maxTokens = model.maxTokens } = options;
  if (maxTokens > model.maxTokens) throw new Error(tooLong(maxTokens, model.maxTokens));
  return {
    name: options.name ?? nameFrom(path),
    path: resolve(path),
    tokenizer,
    maxTokens,
    isLimitAsked: true,
    firstPosition,
    readout: pooling === undefined ? MEAN_READOUT : { source: "option", poolings: [pooling], steps: [] },
  };
}

async function readModel(options: ModelFileOptions, given: string): Promise<ModelSource> {
  const path = (await firstFile([given, join(given, "model.onnx"), join(given, "onnx", "model.onnx")])) ?? "";
  if (path === "")
    throw new Error(
      `There is no model at ${given}; expected an .onnx file or a folder with model.onnx, as nothing is downloaded`,
    );
  const folders = [dirname(path), dirname(dirname(path))];
  const tokenizerPath = options.tokenizer ?? (await firstFile(folders.map((folder) => join(folder, "tokenizer.json"))));
  if (tokenizerPath === undefined) {
    throw new Error(`There is no tokenizer.json beside ${path}; name it with \`tokenizer\``);
  }
  const { do_lower_case: lowers } = await firstJson(folders, "sentence_bert_config.json");
  const tokenizerFile: TokenizerFile = { path: resolve(tokenizerPath), lowers: lowers === true };
  const limits = await readLimits(folders);
  const maxTokens = options.maxTokens ?? limits.maxTokens ?? FALLBACK_MAX_TOKENS;
  const readout = await readReadout(folders, options.pooling);
  const config = await firstJson(folders, "config.json");
  return {
    name: options.name ?? nameFrom(path),
    path,
    tokenizer: await loadHuggingFaceTokenizer(tokenizerFile),
    tokenizerFile,
    maxTokens,
    isLimitAsked: options.maxTokens !== undefined,
    positions: limits.positions,
    firstPosition: limits.firstPosition,
    readout,
    ...(isRecord(config.id2label) ? { labels: Object.keys(config.id2label).length } : {}),
    ...(typeof config.vocab_size === "number" ? { vocabulary: config.vocab_size } : {}),
    ...defaultPromptIn(await firstJson(folders, "config_sentence_transformers.json")),
  };
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

/**
 * For example `all-minilm` for all-minilm.onnx, all-minilm/model.onnx and
 * all-minilm/onnx/model.onnx.
 */
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
