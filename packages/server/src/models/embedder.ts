/**
 * The service's text model: the library's embedder, with what the service shows of it.
 *
 * Guarantees: those of `openEmbedder`; a full queue refuses at once. Does not cut lists of token
 * ids; `tokenize` tells how long texts are, and the HTTP layer refuses with both numbers.
 */

import type { Batcher } from "batchwise";
import {
  type EmbedOptions,
  openEmbedder,
  type SpecialTokens,
  type TextEmbedder,
  type TokenCount,
  type TokenizeOptions,
  type Vector,
} from "batchwise/onnx";
import { type ModelOptions, resolveModel } from "./model-source.ts";
import { withFlags } from "./option-flags.ts";
import { RateMeter } from "./rate-meter.ts";
import { RecentDurations, type RecentQuantiles } from "./recent-durations.ts";

export interface EmbedderOptions extends ModelOptions {
  /**
   * Threads with a model session each, and so batches at once. Default: the cores that this process
   * may use.
   */
  readonly workers?: number;
  /**
   * Cap on a batch's padded size: texts x tokens of the longest. Default: learned from how long
   * batches run.
   */
  readonly maxBatchTokens?: number;
  /**
   * Cap on a batch's texts; 1 switches batching off. Default: 1,024 while the size is learned, else
   * 64.
   */
  readonly maxBatchSize?: number;
  /**
   * Batch texts even where the model's vectors depend on what else is in a batch. Default: one text
   * at a time there.
   */
  readonly batchAnyway?: boolean;
  /** How long the oldest text may wait for company while a thread is free. */
  readonly maxWaitMs?: number;
  readonly maxQueueSize?: number;
  /**
   * Keep as many tokens of a text that is too long as fit, in place of refusing it. Lists of token
   * ids are refused still.
   */
  readonly truncate?: boolean;
  /** Whether callers may send token ids in place of texts. Default: true. */
  readonly tokenInput?: boolean;
  /** Deadline of a text from its arrival; none unless given. */
  readonly timeoutMs?: number;
}

/** What happened lately, per second. */
export interface EmbedderRates {
  readonly texts: number;
  readonly tokens: number;
  readonly batches: number;
}

export interface ModelDescription {
  readonly name: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly vocabularySize: number;
  /** What its tokenizer puts around every text. */
  readonly specialTokens: SpecialTokens;
  /** False where callers may send texts only. Default: true. */
  readonly tokenInput?: boolean;
  readonly builtIn: boolean;
}

type Tokens = ArrayLike<number>;

export class Embedder {
  readonly model: ModelDescription;
  /** Warnings for the operator about the vectors; a sentence each. */
  readonly warnings: readonly string[];
  readonly #embedder: TextEmbedder;
  readonly #texts: RateMeter = new RateMeter();
  readonly #tokens: RateMeter = new RateMeter();
  readonly #batches: RateMeter = new RateMeter();
  readonly #latencies: RecentDurations = new RecentDurations();

  private constructor(embedder: TextEmbedder, { model, tokenInput = true }: EmbedderOptions) {
    this.#embedder = embedder;
    this.warnings = Object.freeze(embedder.warnings.map(withFlags));
    this.model = Object.freeze({ ...embedder.model, tokenInput, builtIn: model === undefined });
    this.batcher.on("batch", ({ error }) => {
      if (error === undefined) this.#batches.add(1);
    });
    this.batcher.on("item", ({ outcome, latencyMs }) => {
      if (outcome !== "completed") return;
      this.#texts.add(1);
      this.#latencies.add(latencyMs);
    });
  }

  /**
   * Loads the model in every thread and runs it once; rejects, with nothing left running, when that
   * fails.
   */
  static async open(options: EmbedderOptions = {}): Promise<Embedder> {
    const { workers, maxBatchTokens, maxBatchSize, batchAnyway, maxWaitMs, maxQueueSize, truncate, timeoutMs } =
      options;
    const batching = { maxBatchTokens, maxBatchSize, batchAnyway, maxWaitMs, maxQueueSize, timeoutMs };
    try {
      const model = await resolveModel(options);
      return new Embedder(await openEmbedder({ ...model, ...batching, workers, truncate, onFull: "reject" }), options);
    } catch (error) {
      if (error instanceof Error) error.message = withFlags(error.message);
      throw error;
    }
  }

  /** For its statistics and events; texts come in through `embed`. */
  get batcher(): Batcher<Tokens, Vector> {
    return this.#embedder.batcher;
  }

  get workers(): number {
    return this.#embedder.workers;
  }

  /** True while texts can be answered. */
  get ready(): boolean {
    return this.#embedder.ready;
  }

  /** How many model threads died and were replaced. */
  get restarts(): number {
    return this.#embedder.restarts;
  }

  /** The ids of each text: none, or with `truncate` the first that fit, where it is too long. */
  tokenize(texts: readonly string[], options?: TokenizeOptions): Promise<TokenCount[]> {
    return this.#embedder.tokenize(texts, options);
  }

  /**
   * One vector a list. Rejects with the first failure, and then takes the lists that still wait out
   * of the queue.
   */
  async embed(lists: readonly Tokens[], options: EmbedOptions = {}): Promise<Vector[]> {
    const vectors = await this.#embedder.embedTokens(lists, options);
    this.#tokens.add(lists.reduce((sum, list) => sum + list.length, 0));
    return vectors;
  }

  rates(): EmbedderRates {
    return {
      texts: this.#texts.perSecond(),
      tokens: this.#tokens.perSecond(),
      batches: this.#batches.perSecond(),
    };
  }

  /** From a text's arrival to its vector, of the texts of the last seconds. */
  recentLatencyMs(): RecentQuantiles {
    return this.#latencies.quantiles();
  }

  /** From now on nothing is held back for company; the first step of a shutdown. */
  hurry(): void {
    this.batcher.configure({ maxWaitMs: 0 });
  }

  /** Finishes every accepted text, then ends the threads. Idempotent. */
  close(): Promise<void> {
    return this.#embedder.close();
  }
}
