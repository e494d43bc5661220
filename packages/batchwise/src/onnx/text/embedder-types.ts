// The public types of `openEmbedder`.

import type { OnFull } from "../../core/contract/options.ts";
import type { Batcher } from "../../core/contract/types.ts";
import type { ModelThreadsOptions } from "../model-threads.ts";
import type { ModelFileOptions } from "./model-folder/model-files.ts";
import type { SpecialTokens } from "./special-tokens.ts";
import type { TokenizeOptions } from "./tokenize-all.ts";
import type { TokenCount } from "./tokenizer.ts";

/**
 * A vector of length 1 in its own memory: `Float32Array<ArrayBuffer>`, written so that TypeScript
 * before 5.7 reads it, too.
 */
export type Vector = ReturnType<Float32ArrayConstructor["of"]>;

/** Options of `openEmbedder`. `model` is required. Times are in milliseconds. */
export interface EmbedderOptions extends ModelFileOptions, ModelThreadsOptions {
  /**
   * Largest padded size of a batch: texts x tokens of the longest text. Default: learned from
   * measured run times.
   */
  readonly maxBatchTokens?: number | undefined;
  /**
   * Most texts in a batch; 1 switches batching off. Default: 1,024 while the size is learned, else
   * 64.
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * Batch texts even if the model's vectors depend on the other texts of a batch. Default: such a
   * model gets one text at a time.
   */
  readonly batchAnyway?: boolean | undefined;
  /**
   * Longest time that the oldest text waits for a fuller batch while a thread is free. Default 0.
   */
  readonly maxWaitMs?: number | undefined;
  /** Most texts in the queue. Default 10,000. */
  readonly maxQueueSize?: number | undefined;
  /** What happens to a text when the queue is full. Default `"wait"`. */
  readonly onFull?: OnFull | undefined;
  /**
   * Cut a text that is too long to the tokens that fit, instead of refusing it. Lists of token ids
   * are still refused.
   */
  readonly truncate?: boolean | undefined;
  /** Deadline of a text, counted from when it is tokenised. Default: none. */
  readonly timeoutMs?: number | undefined;
  /**
   * Answer texts within so long of when they are tokenised, and refuse the others (OVERLOADED, with
   * `retryAfterMs`) as soon as it is certain that they cannot be. > 0. Default: no target.
   */
  readonly targetLatencyMs?: number | undefined;
}

/** Options of one call of an embedder. */
export interface EmbedOptions {
  /**
   * When it aborts, the call rejects with its reason. No further text is tokenised, and waiting
   * texts are removed from the queue.
   */
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first. Default 0. */
  readonly priority?: number | undefined;
  /** Overrides the embedder's own. */
  readonly timeoutMs?: number | undefined;
  /** Callers with different names share batches fairly, by tokens. Default: one nameless caller. */
  readonly caller?: string | undefined;
}

/** Properties of an open text model. */
export interface TextModelDescription {
  readonly name: string;
  /** Numbers per vector. */
  readonly dimensions: number;
  /** Longest text in tokens, special tokens included. */
  readonly maxTokens: number;
  readonly vocabularySize: number;
  /**
   * The special tokens that its tokenizer puts around every text; empty if it adds none, or if they
   * are unknown.
   */
  readonly specialTokens: SpecialTokens;
}

/** An open text model in threads. */
export interface TextEmbedder {
  /**
   * Returns one vector per text, in order. Rejects with MODEL_INPUT, before anything is submitted,
   * if a text is too long for the model, has no tokens, or makes the tokenizer throw. Otherwise
   * rejects with the first failure of a text, and removes the call's waiting texts from the queue.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Vector[]>;
  /**
   * The same for lists of the model's token ids, as `tokenize` returns them, or typed arrays. They
   * are copied before it returns. Also rejects with MODEL_INPUT if a list has an id that the model
   * does not have, or lacks the special tokens that the tokenizer puts around every text.
   */
  embedTokens(lists: readonly ArrayLike<number>[], options?: EmbedOptions): Promise<Vector[]>;
  /**
   * The ids of each text; null if it is too long, unless `truncate` keeps the first that fit.
   * Rejects with MODEL_INPUT for a text on which the tokenizer throws or takes more than 5 s, that
   * gets an id which the model does not have, or that `truncate` can cut nowhere.
   */
  tokenize(texts: readonly string[], options?: TokenizeOptions): Promise<TokenCount[]>;
  /** The batcher, for its statistics, events and `configure`. Its items are lists of token ids. */
  readonly batcher: Batcher<ArrayLike<number>, Vector>;
  readonly model: TextModelDescription;
  /** Model threads; also the number of concurrent batches. */
  readonly workers: number;
  /** Warnings about the vectors of this model; a sentence each. */
  readonly warnings: readonly string[];
  /** True while texts can be embedded. */
  readonly ready: boolean;
  /** Number of model threads that died and were replaced. */
  readonly restarts: number;
  /** Finishes every accepted text, then ends the threads. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
