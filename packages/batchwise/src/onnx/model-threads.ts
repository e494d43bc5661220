// Threads with one session of a model each, on the pool of `threadHandler`.
//
// Guarantees: buffers of inputs and answers are transferred, not copied, if a tensor fills its
// buffer. No thread is terminated, because ending it inside a native run aborts the process.

import type { WorkerOptions } from "node:worker_threads";
import { closedError, NO_NAME, namelessError } from "../core/contract/errors.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { check, finiteIntegerFrom, objectWith, type Rule } from "../core/contract/validate.ts";
import { fileBeside } from "../threads/file-beside.ts";
import { ThreadPool } from "../threads/thread-pool.ts";
import { availableCores } from "./cores.ts";
import type { SessionData } from "./open-session.ts";

/** Number of model threads, and their options. */
export interface ModelThreadsOptions {
  /**
   * Threads, with a session each; also the number of concurrent batches. Default:
   * {@link availableCores}.
   */
  readonly workers?: number | undefined;
  /**
   * Threads of the runtime inside one run. Default 1: several sessions answer more rows than
   * several threads in one session.
   */
  readonly intraOpThreads?: number | undefined;
  /**
   * More options of `InferenceSession.create`, such as `graphOptimizationLevel`. Values must be
   * cloneable.
   */
  readonly sessionOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Options of `new Worker`: `env`, `resourceLimits` and so on. */
  readonly workerOptions?: Omit<WorkerOptions, "eval" | "workerData"> | undefined;
}

export const THREAD_OPTIONS: readonly (keyof ModelThreadsOptions)[] = [
  "workers",
  "intraOpThreads",
  "sessionOptions",
  "workerOptions",
];

const aCount: Rule = finiteIntegerFrom(1);
const anObject: Rule = objectWith();

// Errors come back as messages; without this level the runtime also prints each to stderr.
const LOG_NOTHING = 4;

const HERE: string = import.meta.url;

/**
 * A thread's handler: its file beside this one, without the extension, and its data besides the
 * session's.
 */
interface ThreadModule {
  readonly file: string;
  readonly path: string;
  readonly data: object;
}

export class ModelThreads<Call, Answer> {
  readonly workers: number;
  readonly #start: () => ThreadPool;
  #opening: Promise<ThreadPool> | undefined;
  #pool: ThreadPool | undefined;
  #closing: Promise<void> | undefined;

  /** Throws INVALID_OPTION. */
  constructor({ file, path, data }: ThreadModule, options: ModelThreadsOptions) {
    const { workers = availableCores(), intraOpThreads = 1, sessionOptions = {}, workerOptions = {} } = options;
    check("workers", aCount, workers);
    check("intraOpThreads", aCount, intraOpThreads);
    check("sessionOptions", anObject, sessionOptions);
    check("workerOptions", anObject, workerOptions);
    this.workers = workers;
    const session = { interOpNumThreads: 1, logSeverityLevel: LOG_NOTHING, ...sessionOptions };
    const workerData: SessionData = {
      ...data,
      path,
      sessionOptions: { ...session, intraOpNumThreads: intraOpThreads },
    };
    const url = fileBeside(HERE, file).href;
    this.#start = () =>
      new ThreadPool(workers, {
        url,
        movesItems: true,
        movesResults: true,
        terminateAfterMs: Number.POSITIVE_INFINITY,
        workerOptions: { name: "batchwise-model", ...workerOptions, workerData },
      });
  }

  /** True while at least one thread has loaded the model. */
  get ready(): boolean {
    return this.#pool?.ready ?? false;
  }

  /** Number of threads that were started to replace dead ones. */
  get restarts(): number {
    return this.#pool?.restarts ?? 0;
  }

  /** Loads the model in each thread, once. After a failure the next call tries again. */
  async open(): Promise<void> {
    await this.#opened();
  }

  /**
   * Waits for a free thread and runs the batch there as one item. Uses the context's id, cost and
   * signal.
   */
  async run(call: Call, context?: BatchContext): Promise<Answer> {
    const pool = await this.#opened();
    const { id = "", cost = 0, signal = new AbortController().signal } = context ?? {};
    const answers = await pool.run([call], { id, key: "", cost, reason: "idle", requests: [], signal });
    return (await answers[0]) as Answer;
  }

  /** Finishes all calls of `run`, then ends the threads. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const pool = await this.#opening?.catch(() => undefined);
    await pool?.close();
  }

  #opened(): Promise<ThreadPool> {
    if (this.#closing !== undefined) return Promise.reject(namelessError(closedError(NO_NAME)));
    this.#opening ??= this.#openPool().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #openPool(): Promise<ThreadPool> {
    const pool = this.#start();
    await pool.open();
    this.#pool = pool;
    return pool;
  }
}
