// Threads with a session of one model each, on the pool of `threadHandler`.
//
// Guarantees: buffers of what goes in and of what comes back are handed over where they are whole;
// no thread is ever terminated, because ending it inside a native run aborts the process.

import type { WorkerOptions } from "node:worker_threads";
import { closedError, NO_NAME, namelessError } from "../core/contract/errors.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { check, finiteIntegerFrom, objectWith, type Rule } from "../core/contract/validate.ts";
import { fileBeside } from "../threads/file-beside.ts";
import { ThreadPool } from "../threads/thread-pool.ts";
import { availableCores } from "./cores.ts";
import type { SessionData } from "./open-session.ts";

/** How many threads host a model, and how they end. */
export interface ModelThreadsOptions {
  /** Threads with a session each, and so batches at once. Default: {@link availableCores}. */
  readonly workers?: number | undefined;
  /**
   * Threads of the runtime inside one run. Default 1: sessions side by side answer more rows than
   * threads in one.
   */
  readonly intraOpThreads?: number | undefined;
  /**
   * More options of `InferenceSession.create`, such as `graphOptimizationLevel`. Values that can be
   * cloned.
   */
  readonly sessionOptions?: Readonly<Record<string, unknown>> | undefined;
  /** For `new Worker`: `env`, `resourceLimits` and so on. */
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

// Errors come back as messages; without this the runtime also prints each to stderr.
const LOG_NOTHING = 4;

const HERE: string = import.meta.url;

/**
 * A thread's handler: its file beside this one, without the extension, and what it is told besides
 * the session.
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

  /** True while at least one thread has the model loaded. */
  get ready(): boolean {
    return this.#pool?.ready ?? false;
  }

  /** Threads that were started in place of dead ones. */
  get restarts(): number {
    return this.#pool?.restarts ?? 0;
  }

  /** Loads the model in each thread, once. After a failure the next call tries again. */
  async open(): Promise<void> {
    await this.#opened();
  }

  /**
   * Waits for a free thread. A batch goes to it as one item; of the context it needs nothing but
   * the signal.
   */
  async run(call: Call, context?: BatchContext): Promise<Answer> {
    const pool = await this.#opened();
    const { id = "", cost = 0, signal = new AbortController().signal } = context ?? {};
    const answers = await pool.run([call], { id, key: "", cost, reason: "idle", requests: [], signal });
    return (await answers[0]) as Answer;
  }

  /** Finishes what was given to `run`, then ends the threads. Idempotent. */
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
