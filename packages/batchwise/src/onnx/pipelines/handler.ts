// A handler that answers a batch with one call of a pipeline of @huggingface/transformers.
//
// Guarantees: every caller gets only its own result, without padding. Calls with different options
// are never made as one. An answer of the wrong count fails its batch. The pipeline still blocks
// the thread that it runs in.

import { isError } from "../../core/contract/errors.ts";
import type { BatchContext, Place } from "../../core/contract/types.ts";
import {
  aBoolean,
  aFunction,
  aString,
  check,
  checkIsObject,
  objectWith,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import type { Tensor } from "../../tensor/types.ts";
import { type Reading, readCall } from "./reader.ts";
import { resultsOf } from "./results.ts";
import { refuseTask, taskOf } from "./tasks.ts";
import { checkPooling } from "./tensors.ts";
import type { Pipeline, PipelineHandler, PipelineOptions, ReadCall, TensorPipeline } from "./types.ts";

/**
 * Makes a handler from a pipeline: one call with the inputs of the whole batch. Each caller gets
 * its own result.
 *
 * An item is an input of the pipeline (a string, an image, a sound, an array of messages). An item
 * with its own options is a {@link PipelineCall}; an item of question answering is a
 * {@link QuestionCall}. Pass `key: pipelineKey` to the batcher if callers give options, and
 * `cost: pipelineCost(pipeline)` if texts differ in length.
 *
 * A result is the element that the pipeline, called with an array, returns in the input's place:
 * `{ label, score }` for a text classification, an array with another `top_k`. For feature
 * extraction it is a plain tensor: `[1, width]` with a pooling, else `[1, tokens, width]` with the
 * text's own tokens and without the batch's padding.
 *
 * The result's type depends on the options, so you state it: `pipelineHandler<Label>(classify)`,
 * and `pipelineHandler<Result, Item>(pipeline)` for items other than strings. Feature extraction
 * needs no type argument.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an unknown option; for a task whose pipeline
 * cannot take several inputs (document question answering, image segmentation, background removal,
 * text to audio); for a `pooling` that would read padding (`last_token` with padding on the right).
 * An item that the task cannot take rejects with one for its own caller only. A batch rejects with
 * BATCH_RESULT if the pipeline does not return one result for each input.
 *
 * @example
 * ```ts
 * import { pipeline } from "@huggingface/transformers";
 * import { batch } from "batchwise";
 * import { pipelineHandler } from "batchwise/onnx";
 *
 * const classify = batch(pipelineHandler<{ label: string; score: number }>(await pipeline("text-classification")));
 * const { label } = await classify("A fine day.");
 * ```
 */
export function pipelineHandler<Input>(
  pipeline: TensorPipeline<Input>,
  options?: PipelineOptions,
): PipelineHandler<Input, Tensor>;
export function pipelineHandler<Result, Item = string>(
  pipeline: Pipeline,
  options?: PipelineOptions,
): PipelineHandler<Item, Result>;
// Declared twice more: of two signatures compilers report both errors, of four only the last, which
// names the wrong option.
export function pipelineHandler<Result, Item = string>(
  pipeline: Pipeline,
  options?: PipelineOptions,
): PipelineHandler<Item, Result>;
export function pipelineHandler<Result, Item = string>(
  pipeline: Pipeline,
  options?: PipelineOptions,
): PipelineHandler<Item, Result>;
export function pipelineHandler(pipeline: Pipeline, options?: PipelineOptions): PipelineHandler<unknown, unknown> {
  check("pipeline", aFunction, pipeline);
  const reading = readOptions(pipeline, options);
  const call = pipeline as unknown as (...args: unknown[]) => PromiseLike<unknown>;
  return {
    prepareItem: (item) => readCall(item, reading),
    run: (calls, context) => runGroups(calls, context, (group) => runCalls(call, group, reading)),
    async close() {
      if (options?.dispose === true) await pipeline.dispose?.();
    },
  };
}

function readOptions(pipeline: Pipeline, options: PipelineOptions | undefined): Reading {
  checkIsObject("options", options);
  const { callOptions = {}, labels, task = pipeline.task ?? "", dispose = false } = options ?? {};
  refuseUnknown(options ?? {}, ["callOptions", "labels", "task", "dispose"]);
  check("callOptions", objectWith(), callOptions);
  check("task", aString, task);
  check("dispose", aBoolean, dispose);
  const name = taskOf(task);
  refuseTask(name);
  const { tokenizer } = pipeline;
  checkPooling(name, callOptions, tokenizer);
  return { task: name, callOptions: { ...callOptions }, labels, tokenizer };
}

/** Calls the pipeline once, for calls of one key. */
async function runCalls(
  pipeline: (...args: unknown[]) => PromiseLike<unknown>,
  calls: readonly ReadCall[],
  { task, tokenizer }: Reading,
): Promise<unknown[]> {
  const [{ context, labels, options }] = calls as [ReadCall];
  const args: unknown[] = [calls.map(({ input }) => input)];
  if (context !== undefined) args.push(calls.map((call) => call.context));
  if (labels !== undefined) args.push([...labels]);
  // A copy, because a pipeline may write into its options.
  const output = await pipeline(...args, { ...options });
  return resultsOf(output, calls, task, tokenizer);
}

/**
 * Runs calls of different keys in sequence. With `key: pipelineKey` there is one group. Without it,
 * an error of one group does not fail the others.
 */
async function runGroups(
  calls: readonly ReadCall[],
  { signal }: BatchContext,
  run: (group: readonly ReadCall[]) => Promise<unknown[]>,
): Promise<Place<unknown>[]> {
  const groups = new Map<string, number[]>();
  for (const [index, { key }] of calls.entries()) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  }
  if (groups.size === 1) return run(calls);
  const places: Place<unknown>[] = new Array(calls.length);
  for (const indexes of groups.values()) {
    signal.throwIfAborted();
    const results = await run(indexes.map((index) => calls[index] as ReadCall)).catch((error: unknown) =>
      indexes.map(() => asError(error)),
    );
    for (const [at, index] of indexes.entries()) places[index] = results[at];
  }
  return places;
}

function asError(thrown: unknown): unknown {
  return isError(thrown) ? thrown : new Error(String(thrown), { cause: thrown });
}
