/**
 * The service's text model: the library's embedder, and the figures that the service shows.
 *
 * Guarantees the same as `openEmbedder`; a full queue refuses at once. Does not cut lists of token
 * ids: `tokenize` returns the lengths of texts, and the HTTP layer refuses a long one with both
 * numbers.
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
   * Threads, with a session of the model each; also the number of concurrent batches. Default: the
   * cores that this process may use.
   */
  readonly workers?: number;
  /**
   * Largest padded size of a batch: texts x tokens of the longest text. Default: learned from
   * measured run times.
   */
  readonly maxBatchTokens?: number;
  /**
   * Most texts in a batch; 1 switches batching off. Default: 1,024 while the size is learned, else
   * 64.
   */
  readonly maxBatchSize?: number;
  /**
   * Batch texts even if the model's vectors depend on the other texts of a batch. Default: such a
   * model gets one text at a time.
   */
  readonly batchAnyway?: boolean;
  /** Longest time in ms that the oldest text waits for a fuller batch while a thread is free. */
  readonly maxWaitMs?: number;
  readonly maxQueueSize?: number;
  /**
   * Cut a text that is too long to the tokens that fit, instead of refusing it. Lists of token ids
   * are still refused.
   */
  readonly truncate?: boolean;
  /** True (default): callers may send token ids instead of texts. */
  readonly tokenInput?: boolean;
  /** Deadline of a text in ms from its arrival. Default: none. */
  readonly timeoutMs?: number;
  /**
   * In ms from tokenising: texts that cannot be answered within this time are refused with
   * OVERLOADED. Default: no target.
   */
  readonly targetLatencyMs?: number;
}

/** Recent events per second. */
export interface EmbedderRates {
  readonly texts: number;
  readonly tokens: number;
  readonly batches: number;
}

/** Mean run time of the batches of the last ten seconds; null if there were none. */
export interface RecentRuns {
  readonly realMs: number | null;
  /** What the latency target predicted for them. null without one, and before it has learned. */
  readonly predictedMs: number | null;
}

export interface ModelDescription {
  readonly name: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly vocabularySize: number;
  /** The special tokens that its tokenizer puts around every text. */
  readonly specialTokens: SpecialTokens;
  /** False if callers may send only texts. Default: true. */
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
  readonly #runMs: RateMeter = new RateMeter();
  readonly #predicted: RateMeter = new RateMeter();
  readonly #predictedMs: RateMeter = new RateMeter();
  readonly #latencies: RecentDurations = new RecentDurations();

  private constructor(embedder: TextEmbedder, { model, tokenInput = true }: EmbedderOptions) {
    this.#embedder = embedder;
    this.warnings = Object.freeze(embedder.warnings.map(withFlags));
    this.model = Object.freeze({ ...embedder.model, tokenInput, builtIn: model === undefined });
    this.batcher.on("batch", ({ error, runMs, predictedMs }) => {
      if (error !== undefined) return;
      this.#batches.add(1);
      this.#runMs.add(runMs);
      if (predictedMs === null) return;
      this.#predicted.add(1);
      this.#predictedMs.add(predictedMs);
    });
    this.batcher.on("item", ({ outcome, latencyMs }) => {
      if (outcome !== "completed") return;
      this.#texts.add(1);
      this.#latencies.add(latencyMs);
    });
  }

  /**
   * Loads the model in every thread and runs it once. If that fails, ends all threads and rejects.
   */
  static async open(options: EmbedderOptions = {}): Promise<Embedder> {
    const { workers, maxBatchTokens, maxBatchSize, batchAnyway, maxWaitMs, maxQueueSize } = options;
    const { truncate, timeoutMs, targetLatencyMs } = options;
    const caps = { maxBatchTokens, maxBatchSize, maxWaitMs, maxQueueSize };
    const batching = { ...caps, batchAnyway, timeoutMs, targetLatencyMs };
    try {
      const model = await resolveModel(options);
      return new Embedder(await openEmbedder({ ...model, ...batching, workers, truncate, onFull: "reject" }), options);
    } catch (error) {
      if (error instanceof Error) error.message = withFlags(error.message);
      throw error;
    }
  }

  /** The batcher, for its statistics and events; submit texts with `embed`. */
  get batcher(): Batcher<Tokens, Vector> {
    return this.#embedder.batcher;
  }

  get workers(): number {
    return this.#embedder.workers;
  }

  /** True while texts can be embedded. */
  get ready(): boolean {
    return this.#embedder.ready;
  }

  /** Number of model threads that died and were replaced. */
  get restarts(): number {
    return this.#embedder.restarts;
  }

  /**
   * The ids of each text. For a text that is too long: null, or with `truncate` the first ids that
   * fit.
   */
  tokenize(texts: readonly string[], options?: TokenizeOptions): Promise<TokenCount[]> {
    return this.#embedder.tokenize(texts, options);
  }

  /**
   * One vector per list. Rejects with the first failure, and removes the call's waiting lists from
   * the queue.
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

  /** Time from a text's arrival to its vector, over the last seconds. */
  recentLatencyMs(): RecentQuantiles {
    return this.#latencies.quantiles();
  }

  recentRuns(): RecentRuns {
    const [batches, predicted] = [this.#batches.perSecond(), this.#predicted.perSecond()];
    return {
      realMs: batches > 0 ? this.#runMs.perSecond() / batches : null,
      predictedMs: predicted > 0 ? this.#predictedMs.perSecond() / predicted : null,
    };
  }

  /** Stops waiting for fuller batches; the first step of a shutdown. */
  hurry(): void {
    this.batcher.configure({ maxWaitMs: 0 });
  }

  /** Finishes every accepted text, then ends the threads. Idempotent. */
  close(): Promise<void> {
    return this.#embedder.close();
  }
}
