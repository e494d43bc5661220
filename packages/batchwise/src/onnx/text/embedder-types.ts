// What users of `openEmbedder` see.

import type { OnFull } from "../../core/contract/options.ts";
import type { Batcher } from "../../core/contract/types.ts";
import type { ModelThreadsOptions } from "../model-threads.ts";
import type { ModelFileOptions } from "./model-files.ts";
import type { SpecialTokens } from "./special-tokens.ts";
import type { TokenizeOptions } from "./tokenize-all.ts";
import type { TokenCount } from "./tokenizer.ts";

/**
 * Of length 1, with memory of its own: `Float32Array<ArrayBuffer>`, in words that TypeScript before
 * 5.7 has too.
 */
export type Vector = ReturnType<Float32ArrayConstructor["of"]>;

/** `model` is required. Times are in milliseconds. */
export interface EmbedderOptions extends ModelFileOptions, ModelThreadsOptions {
  /**
   * Cap on a batch's padded size: texts x tokens of the longest. Default: learned from how long
   * batches run.
   */
  readonly maxBatchTokens?: number | undefined;
  /**
   * Cap on a batch's texts; 1 switches batching off. Default: 1,024 while the size is learned, else
   * 64.
   */
  readonly maxBatchSize?: number | undefined;
  /**
   * Batch texts even where the model's vectors depend on what else is in a batch. Default: one text
   * at a time there.
   */
  readonly batchAnyway?: boolean | undefined;
  /** How long the oldest text may wait for company while a thread is free. Default 0. */
  readonly maxWaitMs?: number | undefined;
  /** Texts that may wait. Default 10,000. */
  readonly maxQueueSize?: number | undefined;
  /** What a text meets when the queue is full. Default `"wait"`. */
  readonly onFull?: OnFull | undefined;
  /**
   * Keep as many tokens of a text that is too long as fit, in place of refusing it. Lists of token
   * ids are refused still.
   */
  readonly truncate?: boolean | undefined;
  /** Deadline of a text, from when it is tokenised. Default: none. */
  readonly timeoutMs?: number | undefined;
}

/** Options of one call of an embedder. */
export interface EmbedOptions {
  /**
   * Once it aborts, the call rejects with its reason. No further text is tokenised, and those that
   * wait are removed.
   */
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first. Default 0. */
  readonly priority?: number | undefined;
  /** In place of the embedder's own. */
  readonly timeoutMs?: number | undefined;
  /** Callers of different names share batches fairly, by tokens. Default: one nameless caller. */
  readonly caller?: string | undefined;
}

/** What is known of a text model once it is open. */
export interface TextModelDescription {
  readonly name: string;
  /** Numbers in a vector. */
  readonly dimensions: number;
  /** Longest text in tokens, marks included. */
  readonly maxTokens: number;
  readonly vocabularySize: number;
  /** What its tokenizer puts around every text; empty where that adds none, or does not tell. */
  readonly specialTokens: SpecialTokens;
}

/** A text model in threads, open. */
export interface TextEmbedder {
  /**
   * One vector a text, in order. Rejects, with nothing submitted, with MODEL_INPUT where a text is
   * too long for the model, has no tokens, or makes the tokenizer throw; else with the first
   * failure of a text, and takes those that still wait out of the queue.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Vector[]>;
  /**
   * The same for lists of the model's own token ids, as `tokenize` gives them; typed arrays will
   * do. They are copied before it returns. Rejects with MODEL_INPUT, too, where a list has an id
   * that the model does not have, or lacks the special tokens that the tokenizer puts around every
   * text.
   */
  embedTokens(lists: readonly ArrayLike<number>[], options?: EmbedOptions): Promise<Vector[]>;
  /**
   * The ids of each text: null where it is too long, unless `truncate` keeps the first that fit.
   * Rejects with MODEL_INPUT for a text on which the tokenizer throws, for which it gives an id
   * that the model does not have, that takes more than 5 s, or that `truncate` can cut nowhere.
   */
  tokenize(texts: readonly string[], options?: TokenizeOptions): Promise<TokenCount[]>;
  /** For its statistics, events and `configure`. Its items are lists of token ids. */
  readonly batcher: Batcher<ArrayLike<number>, Vector>;
  readonly model: TextModelDescription;
  /** Model threads, and so batches at once. */
  readonly workers: number;
  /** What you should know about the vectors of this model; a sentence each. */
  readonly warnings: readonly string[];
  /** True while texts can be answered. */
  readonly ready: boolean;
  /** Model threads that died and were replaced. */
  readonly restarts: number;
  /** Finishes every accepted text, then ends the threads. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
