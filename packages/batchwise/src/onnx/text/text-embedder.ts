/**
 * Turns texts into vectors: a batcher of tokenised texts in front of threads with a model. Texts of
 * all callers share batches.
 *
 * Guarantees: vectors are in the order of the texts. A text that the model cannot take, or whose
 * vector is not finite or is all zeros, fails only its own call. A caller whose signal aborts
 * leaves the queue at once. `close` finishes accepted texts.
 */

import { bindMethods } from "../../core/contract/bind-methods.ts";
import { BatchwiseError, countOf } from "../../core/contract/errors.ts";
import type { BatchOptions } from "../../core/contract/options.ts";
import type { BatchContext, Batcher } from "../../core/contract/types.ts";
import { createBatcher } from "../../makers/batch.ts";
import { modelFailedError, modelInputError, notFiniteError, zeroVectorError } from "../errors.ts";
import { checkEmbedOptions, checkLists, checkTexts, checkTokenizeOptions, copyOf } from "./call-input.ts";
import type { EmbedderOptions, EmbedOptions, TextEmbedder, TextModelDescription, Vector } from "./embedder-types.ts";
import type { ModelSource } from "./model-folder/model-files.ts";
import { checkSpecialTokens, type SpecialTokens, specialTokensOf } from "./special-tokens.ts";
import { padTokens, splitRows } from "./token-batch.ts";
import { TokenThread } from "./token-thread.ts";
import { type Tokenising, type TokenizeOptions, tokenizeAll } from "./tokenize-all.ts";
import { checkIds, type TokenCount } from "./tokenizer.ts";
import type { VectorThreads } from "./vector-threads.ts";

export interface LoadedModel {
  readonly source: ModelSource;
  readonly threads: VectorThreads;
  readonly dimensions: number;
  readonly warnings: readonly string[];
}

type Tokens = ArrayLike<number>;
const NO_SPECIAL_TOKENS: SpecialTokens = { before: [], after: [] };
type Caps = "maxBatchSize" | "maxBatchCost";

/** Used if `maxBatchTokens` is given. */
const DEFAULT_MAX_BATCH_SIZE = 64;
/** Calls of at most this many texts go before calls of thousands. */
const SMALL_CALL = 8;

export class ThreadedEmbedder implements TextEmbedder {
  readonly model: TextModelDescription;
  readonly workers: number;
  readonly warnings: readonly string[];
  readonly batcher: Batcher<Tokens, Vector>;
  readonly #paddingId: number;
  readonly #threads: VectorThreads;
  readonly #tokenising: Tokenising;
  /** Batches in the model's threads. */
  #runs = 0;
  /** True while a batch of a refused call is tried. */
  #isTrying = false;
  readonly #callers: WeakMap<Tokens, string> = new WeakMap();

  constructor({ source, threads, dimensions, warnings }: LoadedModel, options: EmbedderOptions) {
    this.warnings = Object.freeze([...warnings]);
    this.#paddingId = source.tokenizer.paddingId;
    this.#threads = threads;
    this.#tokenising = tokenisingOf(source, options);
    this.workers = threads.workers;
    this.model = Object.freeze({
      name: source.name,
      dimensions,
      maxTokens: source.maxTokens,
      vocabularySize: source.tokenizer.vocabularySize,
      specialTokens: specialTokensOf(source.tokenizer) ?? NO_SPECIAL_TOKENS,
    });
    this.batcher = createBatcher<Tokens, Vector>(
      { run: (lists, context) => this.#run(lists, context), close: () => this.#end() },
      {
        name: source.name,
        concurrency: this.workers,
        ...sizesOf(options),
        cost: (list) => list.length,
        order: "length",
        fairBy: (list) => this.#callers.get(list) ?? "",
        oversize: "alone",
        maxWaitMs: options.maxWaitMs,
        // With a small model, sending a batch to its thread takes most of the time, so texts of
        // many sockets share a batch.
        gather: "tick",
        maxQueueSize: options.maxQueueSize,
        onFull: options.onFull,
        smallCallFirst: SMALL_CALL,
        isolateFailures: true,
        timeoutMs: options.timeoutMs,
        targetLatencyMs: options.targetLatencyMs,
      },
    );
    bindMethods(this);
  }

  get ready(): boolean {
    return !this.batcher.closed && this.#threads.ready;
  }

  get restarts(): number {
    return this.#threads.restarts;
  }

  async tokenize(texts: readonly string[], options: TokenizeOptions = {}): Promise<TokenCount[]> {
    checkTokenizeOptions(options);
    checkTexts(texts);
    return await tokenizeAll(this.#tokenising, texts, options);
  }

  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<Vector[]> {
    checkEmbedOptions(options);
    const counts = await this.tokenize(texts, { signal: options.signal });
    options.signal?.throwIfAborted();
    const lists = counts.map(({ ids, tokens }, index) => {
      const name = `texts[${index}]`;
      this.#checkLength(ids, tokens, name);
      return checkIds(name, ids, this.model.vocabularySize);
    });
    return this.#embed(lists, options);
  }

  async embedTokens(lists: readonly Tokens[], options: EmbedOptions = {}): Promise<Vector[]> {
    checkEmbedOptions(options);
    checkLists(lists);
    const copies = lists.map((list, index) => {
      const name = `lists[${index}]`;
      this.#checkLength(list, list.length, name);
      const ids = checkIds(name, copyOf(list), this.model.vocabularySize);
      checkSpecialTokens(name, ids, this.model.specialTokens);
      return ids;
    });
    return this.#embed(copies, options);
  }

  close(): Promise<void> {
    return this.batcher.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Throws MODEL_INPUT. */
  #checkLength(ids: Tokens | null, tokens: number, name: string): asserts ids is Tokens {
    if (tokens === 0) throw modelInputError(`\`${name}\` has no tokens`);
    const { maxTokens } = this.model;
    if (ids !== null && tokens <= maxTokens) return;
    const hint =
      ids === null ? ". `truncate: true` keeps as many of a text as fit" : ". Lists of token ids are not cut";
    throw modelInputError(
      `The model ${this.model.name} takes at most ${maxTokens} tokens, but \`${name}\` has ${tokens}${hint}`,
    );
  }

  /** Rejects with the first failure, and removes the call's waiting lists from the queue. */
  async #embed(lists: readonly Tokens[], { signal, priority, timeoutMs, caller }: EmbedOptions): Promise<Vector[]> {
    if (caller !== undefined) for (const list of lists) this.#callers.set(list, caller);
    const [only, ...others] = lists;
    if (only !== undefined && others.length === 0) {
      return [await this.batcher.submit(only, { signal, priority, timeoutMs })];
    }
    const failed = new AbortController();
    const left = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
    try {
      return await this.batcher.submitMany(lists, { signal: left, priority, timeoutMs });
    } catch (error) {
      failed.abort(error);
      if (error instanceof BatchwiseError && error.code === "OVERLOADED") this.#tryRefused(lists);
      throw error;
    }
  }

  /**
   * Runs one batch of a refused call if nothing else runs. A batcher whose calls are all refused
   * would never learn that larger batches are in time.
   */
  #tryRefused(lists: readonly Tokens[]): void {
    if (this.#runs > 0 || this.#isTrying) return;
    this.#isTrying = true;
    const longest = lists.reduce((most, { length }) => Math.max(most, length), 1);
    const cost = this.batcher.stats().learned?.maxBatchCost ?? 0;
    const ended = (): void => {
      this.#isTrying = false;
    };
    this.batcher.submitMany(lists.slice(0, Math.max(1, Math.floor(cost / longest)))).then(ended, ended);
  }

  async #end(): Promise<void> {
    await Promise.all([this.#threads.close(), this.#tokenising.thread?.close()]);
  }

  async #run(lists: readonly Tokens[], { signal }: BatchContext): Promise<(Vector | Error)[]> {
    if (this.batcher.options.targetLatencyMs < Infinity) {
      await refusedCallsHaveLeft();
      if (signal.aborted) return lists.map(() => new Error("Every caller has left.", { cause: signal.reason }));
    }
    this.#runs += 1;
    const block = await this.#threads.run(padTokens(lists, this.#paddingId)).finally(() => {
      this.#runs -= 1;
    });
    const { dimensions, name } = this.model;
    if (block.width !== dimensions) {
      throw modelFailedError(
        `The model ${name} gave vectors of ${countOf(block.width, "number")}; expected ${dimensions}`,
      );
    }
    const { notFinite, zeros } = block;
    // In some graphs such a row spoils its neighbours. Failing the batch makes the batcher try its
    // halves.
    if (lists.length > 1 && notFinite.length + zeros.length === lists.length) {
      throw notFinite.length > 0 ? notFiniteError() : zeroVectorError();
    }
    const results: (Vector | Error)[] = splitRows(block);
    for (const row of notFinite) results[row] = notFiniteError();
    for (const row of zeros) results[row] = zeroVectorError();
    return results;
  }
}

/**
 * A text may be refused in the step in which its batch starts. Its call takes the other texts back
 * a few promise jobs later, and then no caller may be left.
 */
async function refusedCallsHaveLeft(): Promise<void> {
  for (let job = 0; job < 8; job += 1) await null;
}

/** Uses a thread for long texts if the tokenizer is a file that the thread can load. */
function tokenisingOf(source: ModelSource, { truncate = false, workerOptions }: EmbedderOptions): Tokenising {
  const { tokenizer, tokenizerFile: file, maxTokens } = source;
  const limit = { maxTokens, truncate };
  return { tokenizer, limit, thread: file && new TokenThread({ file, limit }, workerOptions) };
}

/** The limits of a batch. */
function sizesOf({ maxBatchTokens, maxBatchSize }: EmbedderOptions): Pick<BatchOptions<Tokens, Vector>, Caps> {
  if (maxBatchTokens === undefined) return { maxBatchSize, maxBatchCost: "learn" };
  return { maxBatchSize: maxBatchSize ?? DEFAULT_MAX_BATCH_SIZE, maxBatchCost: maxBatchTokens };
}
