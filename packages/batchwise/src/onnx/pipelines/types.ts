// The members of a pipeline of @huggingface/transformers that its handler uses. Structural types:
// nothing of that package is imported, and your own function can be a pipeline.

import type { HandlerObject, Place } from "../../core/contract/types.ts";
import type { TensorLike } from "../../tensor/types.ts";

/** The properties of a pipeline. A function that wraps a pipeline may have them, too. */
export interface PipelineParts {
  /** For example "text-classification". */
  readonly task?: string | undefined;
  /** Counts tokens and returns the attention mask. */
  readonly tokenizer?: unknown;
  /** Frees the model. */
  dispose?(): unknown;
}

/**
 * A function that takes an array of inputs and further arguments, and answers all inputs in one
 * call.
 */
export type Pipeline = ((inputs: never, ...rest: never[]) => PromiseLike<unknown>) & PipelineParts;

/** A pipeline that returns one tensor, whose first dimension is the inputs: feature extraction. */
export type TensorPipeline<Input> = ((inputs: Input[], ...rest: never[]) => PromiseLike<TensorLike>) & PipelineParts;

/** The options of a call, such as `{ top_k: 3 }`: values that JSON can hold. */
export type CallOptions = Readonly<Record<string, unknown>>;

/** An item with its own options. An item without them is the input itself. */
export interface PipelineCall<Input = string> {
  readonly input: Input;
  /** Options of this call; they override the handler's `callOptions`. */
  readonly options?: CallOptions | undefined;
  /** For the zero-shot tasks: the labels to choose from; they replace the handler's. */
  readonly labels?: readonly string[] | undefined;
}

/** An item of question answering. */
export interface QuestionCall {
  readonly question: string;
  /** The text that contains the answer. */
  readonly context: string;
  readonly options?: CallOptions | undefined;
}

/** Options of `pipelineHandler`. */
export interface PipelineOptions {
  /**
   * Options of every call, such as `{ pooling: "mean", normalize: true }`. Any values. Default:
   * none.
   */
  readonly callOptions?: CallOptions | undefined;
  /** For the zero-shot tasks: the labels to choose from. */
  readonly labels?: readonly string[] | undefined;
  /**
   * The pipeline's task. Default: `pipeline.task`. Pass it for a function that wraps a pipeline.
   */
  readonly task?: string | undefined;
  /** True: closing the batcher disposes of the pipeline. Default: false. */
  readonly dispose?: boolean | undefined;
}

/** An item after reading. Calls with equal `key` can be made as one. */
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
