// Opens a text model and checks it before it is used.

import {
  aBoolean,
  aString,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  objectWith,
  oneOf,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import { openError } from "../errors.ts";
import { THREAD_OPTIONS } from "../model-threads.ts";
import type { EmbedderOptions, TextEmbedder } from "./embedder-types.ts";
import { type ModelSource, resolveModel, type TextModel } from "./model-folder/model-files.ts";
import { POOLINGS } from "./readout.ts";
import { firstRun, warningsOf } from "./start-checks/first-run.ts";
import { checkRoomForText, withLimitTried } from "./start-checks/length.ts";
import { neighbourEffect, neighbourWarning } from "./start-checks/neighbours.ts";
import { ThreadedEmbedder } from "./text-embedder.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { VectorThreads } from "./vector-threads.ts";

const OPTIONS: readonly (keyof EmbedderOptions)[] = [
  ...(["model", "tokenizer", "name", "maxTokens", "pooling"] as const),
  ...([
    "maxBatchTokens",
    "maxBatchSize",
    "batchAnyway",
    "maxWaitMs",
    "maxQueueSize",
    "onFull",
    "truncate",
    "timeoutMs",
    "targetLatencyMs",
  ] as const),
  ...THREAD_OPTIONS,
];

const aModel: Rule = {
  ...objectWith(),
  expected: "the path of an .onnx file or of a folder with one, or a description",
};

const DESCRIPTION: readonly (keyof TextModel)[] = ["path", "tokenizer", "maxTokens", "pooling", "firstPosition"];

const aModelPath: Rule = {
  expected: "the path of an .onnx file",
  type: "string",
  test: (path: string) => path !== "",
};

const aTokenizerPath: Rule = {
  expected: "the path of a tokenizer.json; a tokenizer of your own goes into `model: { path, tokenizer, … }`",
  type: "string",
  test: (path: string) => path !== "",
};

/**
 * Opens a text model in worker threads of Node.js. `embed(texts)` gives each text the vector, of
 * length 1, that it would have in a batch of its own; texts of all callers share batches.
 *
 * The model's files define how texts are tokenised (`tokenizer.json`, read with
 * `@huggingface/tokenizers`), how long they may be, and how the vectors of tokens become one
 * (`modules.json`, `1_Pooling`, `2_Dense`, `3_Normalize`). A model that needs a step which is not
 * supported is refused. At the start, random texts run one at a time and together: if the vectors
 * differ, as those of dynamically quantised graphs do, texts run one at a time and `warnings` says
 * so.
 *
 * A text goes through these stages: tokenising, in this thread for about 4 ms of each pass of the
 * event loop, or in another thread if it has more than 512 characters; the queue; padding in this
 * thread; the model's run and pooling in a worker thread; splitting in this thread.
 *
 * @throws rejects with `code: "INVALID_OPTION"` for an option that is unknown or out of range, and
 * with MODEL_LOAD for a file that cannot be loaded, a `maxTokens` that is above the model's limit
 * or leaves no room beside the special tokens, a model that returns no vectors of texts, or a
 * tokenizer of another model. The message says what was expected and what came. All threads have
 * ended then.
 *
 * @example
 * ```ts
 * import { openEmbedder } from "batchwise/onnx";
 *
 * await using embedder = await openEmbedder({ model: "path/to/all-MiniLM-L6-v2" });
 * const [one, other] = await embedder.embed(["hello world", "hello there"]);
 * console.log(embedder.warnings, one?.length, other?.length);
 * ```
 */
export async function openEmbedder(options: EmbedderOptions): Promise<TextEmbedder> {
  checkOptions(options);
  try {
    return await openFound(await resolveModel(options), options);
  } catch (error) {
    throw openError(error);
  }
}

async function openFound(found: ModelSource, options: EmbedderOptions): Promise<TextEmbedder> {
  const { workers, intraOpThreads, sessionOptions, workerOptions } = options;
  const { path, readout, firstPosition } = found;
  const threads = new VectorThreads({
    ...{ workers, intraOpThreads, sessionOptions, workerOptions },
    ...{ path, readout, firstPosition },
  });
  try {
    await threads.open();
    const first = await firstRun(found, threads);
    const source = await withLimitTried(found, threads);
    checkRoomForText(source);
    const warnings = warningsOf(source, first);
    const effect = options.maxBatchSize === 1 ? undefined : await neighbourEffect(source, threads);
    if (effect !== undefined) warnings.push(neighbourWarning(effect, options.batchAnyway ?? false));
    const oneByOne = effect !== undefined && options.batchAnyway !== true;
    const sizes = oneByOne ? { ...options, maxBatchSize: 1 } : options;
    return new ThreadedEmbedder({ source, threads, dimensions: first.width, warnings }, sizes);
  } catch (error) {
    await threads.close();
    throw error;
  }
}

/** Checks the options that neither the batcher nor the threads check. */
function checkOptions(options: EmbedderOptions): void {
  checkIsObject("options", options);
  const { model, tokenizer, name, maxTokens, pooling, batchAnyway, truncate } = options ?? {};
  refuseUnknown(options ?? {}, OPTIONS, "", {
    path: "it is `model`",
    modelName: "it is `name`",
    concurrency: "threads, and so batches at once, are `workers`",
  });
  const isModel = typeof model === "string" ? model !== "" : typeof model === "object" && model !== null;
  if (!isModel) throw expected("model", aModel, model, TypeError);
  if (typeof model !== "string") checkDescription(model);
  if (tokenizer !== undefined) check("tokenizer", aTokenizerPath, tokenizer);
  if (name !== undefined) check("name", aString, name);
  if (maxTokens !== undefined) check("maxTokens", finiteIntegerFrom(1), maxTokens);
  if (pooling !== undefined) check("pooling", oneOf(...POOLINGS), pooling);
  if (batchAnyway !== undefined) check("batchAnyway", aBoolean, batchAnyway);
  if (truncate !== undefined) check("truncate", aBoolean, truncate);
}

/** Otherwise an error would show at the first text only, or as wrong vectors. */
function checkDescription(model: TextModel): void {
  const { path, tokenizer, maxTokens, pooling, firstPosition } = model;
  refuseUnknown(model, DESCRIPTION, "model.");
  check("model.path", aModelPath, path);
  check("model.tokenizer", objectWith("encode"), tokenizer);
  checkTokenizer(tokenizer);
  check("model.maxTokens", finiteIntegerFrom(1), maxTokens);
  if (pooling !== undefined) check("model.pooling", oneOf(...POOLINGS), pooling);
  if (firstPosition !== undefined) check("model.firstPosition", finiteIntegerFrom(0), firstPosition);
}

/** Other members are allowed: it is often an instance of a class. */
function checkTokenizer({ vocabularySize, paddingId, truncationSide, splitsAtSpaces }: Tokenizer): void {
  check("model.tokenizer.vocabularySize", finiteIntegerFrom(1), vocabularySize);
  check("model.tokenizer.paddingId", finiteIntegerFrom(0), paddingId);
  if (truncationSide !== undefined) check("model.tokenizer.truncationSide", oneOf("left", "right"), truncationSide);
  if (splitsAtSpaces !== undefined) check("model.tokenizer.splitsAtSpaces", aBoolean, splitsAtSpaces);
}
