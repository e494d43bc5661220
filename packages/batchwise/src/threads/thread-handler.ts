// A handler object whose batches run in worker threads, so that a synchronous or CPU-heavy handler
// does not block the event loop of the batcher's thread.

import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import type { WorkerOptions } from "node:worker_threads";
import { bindMethods } from "../core/contract/bind-methods.ts";
import type { BatchContext, Places } from "../core/contract/types.ts";
import {
  aBoolean,
  aboveZero,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  objectWith,
  type Rule,
  refuseUnknown,
} from "../core/contract/validate.ts";
import type { HandlerThreadOptions } from "./handler-thread.ts";
import { ThreadPool } from "./thread-pool.ts";

/** Options of `threadHandler`; all are optional. */
export interface ThreadHandlerOptions {
  /**
   * Number of threads; each runs one batch at a time. It is the batcher's `concurrency` unless you
   * set that. Default 1.
   */
  readonly workers?: number | undefined;
  /**
   * True: typed arrays and ArrayBuffers in a result that own their whole memory are transferred
   * without a copy; the module must not use them again. Default false: results are copied.
   */
  readonly transferResults?: boolean | undefined;
  /**
   * Time in ms. A thread that still runs a batch, or loads for it, this long after the batch's
   * signal has aborted is terminated and replaced. A thread that has not closed its handler this
   * long after it should is terminated. For handlers in plain JavaScript: terminating a thread
   * inside native code (onnxruntime) can abort the process. Default Infinity: no thread is
   * terminated.
   */
  readonly terminateAfterMs?: number | undefined;
  /** Options of `new Worker`: `workerData`, `env`, `resourceLimits` and so on. */
  readonly workerOptions?: Omit<WorkerOptions, "eval"> | undefined;
}

/** A handler object for one `batch` or `createBatcher`, which opens and closes it. */
export interface ThreadHandler<Item, Result> {
  /** `concurrency` is `workers` unless the batcher's own options set it. */
  readonly defaults: Readonly<{ concurrency: number }>;
  /** Starts the threads and loads the module in each. Rejects with the module's own error. */
  open(): Promise<void>;
  run(items: Item[], context: BatchContext): Promise<Places<Result>>;
  /** Finishes running batches, closes the module's handler in each thread, ends the threads. */
  close(): Promise<void>;
  /** Number of threads that were started to replace dead ones. */
  readonly restarts: number;
}

/**
 * Runs the default export of a module in worker threads: a function `(items, context) => results`,
 * or a handler object with its stages, as `batch` takes it. Each thread has its own copy of the
 * module.
 *
 * Items and results are structured clones. An item or a result that cannot be cloned rejects only
 * its caller. If a thread dies, its batch fails with THREAD_ENDED (`retryable`) and the thread is
 * replaced. `context.signal` aborts in the thread, too; a synchronous handler cannot see it before
 * it ends.
 *
 * @param url the module's URL: `new URL("./handler.js", import.meta.url)`, a `file:` or `data:` URL
 * as text, or an absolute path.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * import { threadHandler } from "batchwise/threads";
 *
 * const handler = threadHandler<string, string>(new URL("./hash-passwords.js", import.meta.url), { workers: 2 });
 * const hash = batch(handler, { maxBatchSize: 8 }); // two batches at once
 * ```
 */
export function threadHandler<Item, Result>(
  url: URL | string,
  options?: ThreadHandlerOptions,
): ThreadHandler<Item, Result> {
  return new Threads(url, options) as unknown as ThreadHandler<Item, Result>;
}

const aUrl: Rule = { ...objectWith(), expected: 'a URL such as new URL("./handler.js", import.meta.url)' };
const anyOptions: Rule = objectWith();
const OPTIONS: readonly (keyof ThreadHandlerOptions)[] = [
  "workers",
  "transferResults",
  "terminateAfterMs",
  "workerOptions",
];

function resolveUrl(url: unknown): string {
  if (url instanceof URL) return url.href;
  if (typeof url !== "string") throw expected("url", aUrl, url);
  if (isAbsolute(url)) return pathToFileURL(url).href;
  if (/^(file|data):/.test(url)) return url;
  throw expected("url", aUrl, url, TypeError);
}

class Threads implements ThreadHandler<unknown, unknown> {
  readonly defaults: Readonly<{ concurrency: number }>;
  readonly #options: HandlerThreadOptions;
  #opening: Promise<ThreadPool> | undefined;
  #pool: ThreadPool | undefined;

  constructor(url: unknown, options: ThreadHandlerOptions | undefined) {
    checkIsObject("options", options);
    refuseUnknown(options ?? {}, OPTIONS, "", {
      concurrency: "it is an option of the batcher; threads are `workers`",
      workerData: "it goes into `workerOptions`",
    });
    const { workers = 1, transferResults = false, terminateAfterMs, workerOptions = {} } = options ?? {};
    check("workers", finiteIntegerFrom(1), workers);
    check("transferResults", aBoolean, transferResults);
    if (terminateAfterMs !== undefined) check("terminateAfterMs", aboveZero, terminateAfterMs);
    check("workerOptions", anyOptions, workerOptions);
    this.defaults = Object.freeze({ concurrency: workers });
    this.#options = {
      url: resolveUrl(url),
      movesItems: false,
      movesResults: transferResults,
      terminateAfterMs: terminateAfterMs ?? Number.POSITIVE_INFINITY,
      workerOptions,
    };
    bindMethods(this);
  }

  open(): Promise<void> {
    return this.#opened().then(() => {});
  }

  async run(items: unknown[], context: BatchContext): Promise<Places<unknown>> {
    const pool = await this.#opened();
    return pool.run(items, context);
  }

  async close(): Promise<void> {
    const pool = await this.#opening?.catch(() => undefined);
    await pool?.close();
  }

  get restarts(): number {
    return this.#pool?.restarts ?? 0;
  }

  /** Opens the pool once. After a failure the next call tries again. */
  #opened(): Promise<ThreadPool> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #start(): Promise<ThreadPool> {
    const pool = new ThreadPool(this.defaults.concurrency, this.#options);
    await pool.open();
    this.#pool = pool;
    return pool;
  }
}
