// The shapes that a pipeline of @huggingface/transformers has, as far as its handler uses them.
// Structural: nothing of that package is imported, and a function of your own is a pipeline too.

import type { HandlerObject, Place } from "../../core/contract/types.ts";
import type { TensorLike } from "../../tensor/types.ts";

/** What a pipeline is besides a function. A function that wraps one may have these too. */
export interface PipelineParts {
  /** Such as "text-classification". */
  readonly task?: string | undefined;
  /** Counts tokens and gives the attention mask. */
  readonly tokenizer?: unknown;
  /** Frees the model. */
  dispose?(): unknown;
}

/**
 * A function that takes an array of inputs and further arguments, and answers all inputs in one
 * call.
 */
export type Pipeline = ((inputs: never, ...rest: never[]) => PromiseLike<unknown>) & PipelineParts;

/**
 * A pipeline that answers with one tensor, whose first dimension is the inputs: feature extraction.
 */
export type TensorPipeline<Input> = ((inputs: Input[], ...rest: never[]) => PromiseLike<TensorLike>) & PipelineParts;

/** The options of a call, such as `{ top_k: 3 }`: what JSON can hold. */
export type CallOptions = Readonly<Record<string, unknown>>;

/** An item with options of its own. Where it has none, the input itself is the item. */
export interface PipelineCall<Input = string> {
  readonly input: Input;
  /** Added to the handler's `callOptions`, over them where both have a name. */
  readonly options?: CallOptions | undefined;
  /** For the zero-shot tasks: the labels to choose from, in place of the handler's. */
  readonly labels?: readonly string[] | undefined;
}

/** An item of question answering. */
export interface QuestionCall {
  readonly question: string;
  /** The text in which the answer stands. */
  readonly context: string;
  readonly options?: CallOptions | undefined;
}

/** How a pipeline is called. */
export interface PipelineOptions {
  /**
   * The options of every call, such as `{ pooling: "mean", normalize: true }`. Any values. Default
   * none.
   */
  readonly callOptions?: CallOptions | undefined;
  /** For the zero-shot tasks: the labels to choose from. */
  readonly labels?: readonly string[] | undefined;
  /**
   * The pipeline's task. Default `pipeline.task`; to be given for a function that wraps a pipeline.
   */
  readonly task?: string | undefined;
  /** True: the end of the batcher disposes of the pipeline. Default false. */
  readonly dispose?: boolean | undefined;
}

/** An item once it is read. Calls with equal `key` can be made as one. */
export interface ReadCall {
  readonly input: unknown;
  /** The second text of question answering. */
  readonly context: string | undefined;
  readonly labels: readonly string[] | undefined;
  readonly options: CallOptions;
  readonly key: string;
}

/** A handler for `batch`, `createBatcher` and the module of a `threadHandler`. */
export type PipelineHandler<Item, Result> = HandlerObject<Item, Result, ReadCall, ReadCall[], readonly Place<Result>[]>;
