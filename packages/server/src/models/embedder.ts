/**
 * Turns texts into vectors: a batcher over tokenised texts in front of a pool of model threads. Texts of all
 * callers share batches.
 *
 * Guarantees: vectors in the order of the texts; a text that the model cannot take, or for which it
 * gives numbers that are not finite, fails alone; a caller whose
 * signal aborts leaves the queue at once; `close` finishes what was accepted.
 * Does not check the length of token lists; `tokenize` tells, and the HTTP layer refuses with both numbers.
 */

import { type Batcher, type BatchOptions, createBatcher } from "batchwise";
import { coresAllowed } from "./cores.ts";
import { ModelError } from "./errors.ts";
import { firstRun, warningsOf } from "./model-check.ts";
import { checkModelFile } from "./model-file.ts";
import { type ModelOptions, type ModelSource, resolveModel } from "./model-source.ts";
import { neighbourEffect, neighbourWarning } from "./neighbour-check.ts";
import { RateMeter } from "./rate-meter.ts";
import { RecentDurations, type RecentQuantiles } from "./recent-durations.ts";
import { SessionPool } from "./session-pool.ts";
import { padTokens, splitRows } from "./token-batch.ts";
import { countTokens, type TokenCount, tokenizeAll, truncateTokens } from "./tokenizer.ts";

export type Vector = Float32Array<ArrayBuffer>;

export interface EmbedderOptions extends ModelOptions {
  /** Threads with a model session each, and so batches at once. Default: the cores that this process may use. */
  readonly workers?: number;
  /** Cap on a batch's padded size: texts x tokens of the longest. Default: learned from how long batches run. */
  readonly maxBatchTokens?: number;
  /** Cap on a batch's texts; 1 switches batching off. Default: 1,024 while the size is learned, else 64. */
  readonly maxBatchSize?: number;
  /** Batch texts even where the model's vectors depend on what else is in a batch. Default: one text at a time there. */
  readonly batchAnyway?: boolean;
  /** How long the oldest text may wait for company while a thread is free. */
  readonly maxWaitMs?: number;
  readonly maxQueueSize?: number;
  /** Keep as many tokens of a text that is too long as fit, in place of refusing it. Lists of token ids are refused still. */
  readonly truncate?: boolean;
  /** Whether callers may send token ids in place of texts. Default: true. */
  readonly tokenInput?: boolean;
  /** Deadline of a text from its arrival; none unless given. */
  readonly timeoutMs?: number;
}

export interface EmbedOptions {
  readonly signal?: AbortSignal;
  /** Higher goes first. Default 0. */
  readonly priority?: number;
  /** In place of the embedder's own. */
  readonly timeoutMs?: number;
  /** Callers of different names share batches fairly, by tokens. Default: one nameless caller. */
  readonly caller?: string;
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
  /** False where callers may send texts only. Default: true. */
  readonly tokenInput?: boolean;
  readonly builtIn: boolean;
}

interface LoadedModel {
  readonly source: ModelSource;
  readonly pool: SessionPool;
  readonly dimensions: number;
  readonly warnings: string[];
}

type Tokens = readonly number[];
type Caps = "maxBatchSize" | "maxBatchCost";

/** Where `maxBatchTokens` is given. */
const DEFAULT_MAX_BATCH_SIZE = 64;
const DEFAULT_MAX_QUEUE_SIZE = 10_000;
/** Requests of at most this many texts do not wait behind a request of thousands. */
const SMALL_REQUEST = 8;

export class Embedder {
  readonly model: ModelDescription;
  readonly workers: number;
  /** What whoever runs the service should know about its vectors; a sentence each. */
  readonly warnings: readonly string[];
  /** For its statistics and events; texts come in through `embed`. */
  readonly batcher: Batcher<readonly number[], Vector>;
  readonly #source: ModelSource;
  readonly #pool: SessionPool;
  readonly #count: typeof countTokens;

  readonly #callers: WeakMap<Tokens, string> = new WeakMap();
  readonly #texts: RateMeter = new RateMeter();
  readonly #tokens: RateMeter = new RateMeter();
  readonly #batches: RateMeter = new RateMeter();
  readonly #latencies: RecentDurations = new RecentDurations();

  private constructor({ source, pool, dimensions, warnings }: LoadedModel, options: EmbedderOptions) {
    this.warnings = Object.freeze(warnings);
    this.#source = source;
    this.#pool = pool;
    this.#count = options.truncate ? truncateTokens : countTokens;
    this.workers = workersOf(options);
    this.model = Object.freeze({
      name: source.name,
      dimensions,
      maxTokens: source.maxTokens,
      vocabularySize: source.tokenizer.vocabularySize,
      tokenInput: options.tokenInput ?? true,
      builtIn: source.builtIn,
    });
    this.batcher = createBatcher<Tokens, Vector>(
      { run: (lists) => this.#run(lists), close: () => pool.close() },
      {
        name: source.name,
        concurrency: this.workers,
        ...sizesOf(options),
        cost: (list) => list.length,
        order: "length",
        fairBy: (list) => this.#callers.get(list) ?? "",
        oversize: "alone",
        maxWaitMs: options.maxWaitMs ?? 0,
        maxQueueSize: options.maxQueueSize ?? DEFAULT_MAX_QUEUE_SIZE,
        onFull: "reject",
        smallCallFirst: SMALL_REQUEST,
        isolateFailures: true,
        timeoutMs: options.timeoutMs,
      },
    );
    this.batcher.on("item", ({ outcome, latencyMs }) => {
      if (outcome === "completed") this.#latencies.add(latencyMs);
    });
  }

  /** Loads the model in every thread and runs it once; rejects, with nothing left running, when that fails. */
  static async open(options: EmbedderOptions = {}): Promise<Embedder> {
    const source = await resolveModel(options);
    await checkModelFile(source.path);
    const pool = new SessionPool({
      modelPath: source.path,
      workers: workersOf(options),
      readout: source.readout,
      firstPosition: source.firstPosition,
    });
    try {
      await pool.open();
      const first = await firstRun(source, pool);
      const warnings = warningsOf(source, first);
      const effect = options.maxBatchSize === 1 ? undefined : await neighbourEffect(source, pool);
      if (effect !== undefined) warnings.push(neighbourWarning(effect, options.batchAnyway ?? false));
      const oneByOne = effect !== undefined && options.batchAnyway !== true;
      const sizes = oneByOne ? { ...options, maxBatchSize: 1 } : options;
      return new Embedder({ source, pool, dimensions: first.width, warnings }, sizes);
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  /** True while texts can be answered. */
  get ready(): boolean {
    return !this.batcher.closed && this.#pool.ready;
  }

  /** How many model threads died and were replaced. */
  get restarts(): number {
    return this.#pool.restarts;
  }

  /** The ids of each text: none, or with `truncate` the first that fit, where it is too long. */
  tokenize(texts: readonly string[]): Promise<TokenCount[]> {
    return tokenizeAll(this.#source.tokenizer, texts, this.model.maxTokens, this.#count);
  }

  /** One vector a list. Rejects with the first failure, and then takes the lists that still wait out of the queue. */
  async embed(lists: readonly Tokens[], options: EmbedOptions = {}): Promise<Vector[]> {
    const { signal, priority, timeoutMs, caller } = options;
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
      throw error;
    }
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
    return this.batcher.close();
  }

  async #run(lists: readonly Tokens[]): Promise<(Vector | Error)[]> {
    const block = await this.#pool.run(padTokens(lists, this.#source.tokenizer.paddingId));
    this.#batches.add(1);
    this.#texts.add(lists.length);
    this.#tokens.add(lists.reduce((sum, list) => sum + list.length, 0));
    // In some graphs one such row spoils its neighbours; failing the batch has its halves tried again.
    if (lists.length > 1 && block.notFinite.length === lists.length) throw notFinite();
    const results: (Vector | Error)[] = splitRows(block);
    for (const row of block.notFinite) results[row] = notFinite();
    return results;
  }
}

/**
 * One session a core with one thread each gives 1.9 to 2.1 times the texts a second of one session, more than one
 * session with several threads does, and holds up beside busy neighbours. HTTP and tokenising come before the model's
 * threads, which run at a lower priority.
 */
function workersOf({ workers = coresAllowed() }: EmbedderOptions): number {
  return workers;
}

function notFinite(): ModelError {
  return new ModelError("MODEL_NOT_FINITE", "The model gave a vector with NaN or an infinite number in it");
}

/** The caps of a batch. */
function sizesOf({ maxBatchTokens, maxBatchSize }: EmbedderOptions): Pick<BatchOptions<Tokens, Vector>, Caps> {
  if (maxBatchTokens === undefined) return { maxBatchSize, maxBatchCost: "learn" };
  return { maxBatchSize: maxBatchSize ?? DEFAULT_MAX_BATCH_SIZE, maxBatchCost: maxBatchTokens };
}
