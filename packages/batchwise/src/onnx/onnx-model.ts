// A model in worker threads, as a handler object for `batchTensors`: one session of onnxruntime-node a thread.
//
// Guarantees: the thread of the batcher never waits for a run; a thread that dies fails the batch that it had and is
// replaced; no thread is ended inside a run, which would abort the process.

import { fileURLToPath } from "node:url";
import type { WorkerOptions } from "node:worker_threads";
import type { BatchContext } from "../core/contract/types.ts";
import {
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  objectWith,
  type Rule,
  refuseUnknown,
} from "../core/contract/validate.ts";
import type { HandlerDefaults } from "../tensor/options.ts";
import type { FeaturesOf, Tensor } from "../tensor/types.ts";
import { ThreadPool } from "../threads/thread-pool.ts";
import { availableCores } from "./cores.ts";
import type { SessionAnswer, SessionCall, SessionData, SessionDescription } from "./session-protocol.ts";

export interface OnnxModelOptions {
  /** The .onnx file: a path, or a `file:` URL as object. */
  readonly path: string | URL;
  /** Threads with a session each, and so batches at once. Default: {@link availableCores}. */
  readonly workers?: number | undefined;
  /** Threads of the runtime inside one run. Default 1: sessions side by side answer more rows than threads in one. */
  readonly intraOpThreads?: number | undefined;
  /** Names of the outputs that callers get. Default: all of the model's. */
  readonly outputs?: readonly string[] | undefined;
  /** More options of `InferenceSession.create`, such as `graphOptimizationLevel`. Values that can be cloned. */
  readonly sessionOptions?: Readonly<Record<string, unknown>> | undefined;
  /** For `new Worker`: `env`, `resourceLimits` and so on. */
  readonly workerOptions?: Omit<WorkerOptions, "eval" | "workerData"> | undefined;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** A handler object for one `batchTensors`, which opens and closes it. */
export interface OnnxModel<Inputs, Output> {
  /** Loads the model in each thread. Rejects with MODEL_LOAD, path and reason, with every thread ended. */
  open(): Promise<void>;
  /** Runs the model once. The features' buffers are handed over where they are whole: they are empty afterwards. */
  run(features: Inputs, context?: BatchContext): Promise<Output>;
  /** Finishes what runs, releases the sessions, ends the threads. */
  close(): Promise<void>;
  /** True while at least one thread has the model loaded. */
  readonly ready: boolean;
  /** Threads that were started in place of dead ones. */
  readonly restarts: number;
  /** The model's inputs. Empty until it is open. */
  readonly inputNames: readonly string[];
  /** The outputs that callers get. Empty until it is open. */
  readonly outputNames: readonly string[];
  /** A run gives its input away, so `batchTensors` copies what callers pass. */
  readonly copyInputs: true;
  /** As many batches at once as there are workers, of rows of like length, as large as pays for this model. */
  readonly defaults: HandlerDefaults;
}

/**
 * A model in worker threads of Node.js, for `batchTensors`. Its rows' tensors are stacked in this thread while the
 * threads run other batches; buffers are handed over without copies.
 *
 * It brings defaults along, which your own options override: `concurrency` is `workers`, `maxBatchCost` is `"learn"`,
 * and `order` is `"length"`. It is for one batcher: that one opens and closes it.
 *
 * A batch rejects with MODEL_INPUT for tensors that are not the model's inputs, with MODEL_FAILED where the runtime
 * fails on it (`isolateFailures: true` leaves that to the row that is to blame), and with THREAD_ENDED (`retryable`)
 * where the thread dies.
 *
 * @param options `path` is required; see {@link OnnxModelOptions}.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { onnxModel } from "batchwise/onnx";
 * import { batchTensors } from "batchwise/tensor";
 *
 * const classify = batchTensors(onnxModel({ path: "classifier.onnx" }), { isolateFailures: true });
 * const ids = BigInt64Array.of(101n, 7592n, 102n);
 * const { logits } = await classify({ input_ids: { type: "int64", data: ids, dims: [1, 3] } });
 * await classify.close();
 * ```
 */
export function onnxModel<Inputs extends FeaturesOf<Inputs> = Tensors, Output extends FeaturesOf<Output> = Tensors>(
  options: OnnxModelOptions,
): OnnxModel<Inputs, Output> {
  return new ThreadedModel(options) as unknown as OnnxModel<Inputs, Output>;
}

const OPTIONS: readonly (keyof OnnxModelOptions)[] = [
  "path",
  "workers",
  "intraOpThreads",
  "outputs",
  "sessionOptions",
  "workerOptions",
];

const HINTS: Readonly<Record<string, string>> = {
  concurrency: "it is an option of `batchTensors`; threads are `workers`",
  model: "it is `path`",
  modelPath: "it is `path`",
  intraOpNumThreads: "it is `intraOpThreads`",
};

// Errors come back as messages; without this the runtime also prints each to stderr.
const LOG_NOTHING = 4;

// The module has the extension of this one: .ts when Node runs the sources, .js once they are compiled.
const MODULE_URL: string = new URL(
  `./session-handler${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`,
  import.meta.url,
).href;

const aPath: Rule = { ...objectWith(), expected: "the path of an .onnx file, or a file: URL" };
const anyOptions: Rule = objectWith();
const aCount: Rule = finiteIntegerFrom(1);

class ThreadedModel implements OnnxModel<Extract<SessionCall, object>, Tensors> {
  readonly copyInputs = true;
  readonly defaults: HandlerDefaults;
  readonly #workers: number;
  readonly #workerOptions: WorkerOptions;
  #description: SessionDescription = { inputNames: [], outputNames: [] };
  #opening: Promise<ThreadPool> | undefined;
  #pool: ThreadPool | undefined;

  constructor(options: OnnxModelOptions) {
    if (options === undefined) throw expected("options", anyOptions, options);
    checkIsObject("options", options);
    refuseUnknown(options, OPTIONS, "", HINTS);
    const { path, workers = availableCores(), intraOpThreads = 1, outputs, ...others } = options;
    const { sessionOptions = {}, workerOptions = {} } = others;
    check("workers", aCount, workers);
    check("intraOpThreads", aCount, intraOpThreads);
    check("sessionOptions", anyOptions, sessionOptions);
    check("workerOptions", anyOptions, workerOptions);
    this.#workers = workers;
    const workerData: SessionData = {
      path: pathOf(path),
      outputs,
      sessionOptions: {
        interOpNumThreads: 1,
        logSeverityLevel: LOG_NOTHING,
        ...sessionOptions,
        intraOpNumThreads: intraOpThreads,
      },
    };
    this.#workerOptions = { name: "batchwise-model", ...workerOptions, workerData };
    this.defaults = Object.freeze({ concurrency: workers, maxBatchCost: "learn", order: "length" } as const);
  }

  get ready(): boolean {
    return this.#pool?.ready ?? false;
  }

  get restarts(): number {
    return this.#pool?.restarts ?? 0;
  }

  get inputNames(): readonly string[] {
    return this.#description.inputNames;
  }

  get outputNames(): readonly string[] {
    return this.#description.outputNames;
  }

  open(): Promise<void> {
    return this.#opened().then(() => {});
  }

  async run(features: Extract<SessionCall, object>, context?: BatchContext): Promise<Tensors> {
    return (await call(await this.#opened(), features, context)) as Tensors;
  }

  async close(): Promise<void> {
    const pool = await this.#opening?.catch(() => undefined);
    await pool?.close();
  }

  /** The pool, once. After a failure the next call tries again. */
  #opened(): Promise<ThreadPool> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #start(): Promise<ThreadPool> {
    const pool = new ThreadPool(this.#workers, {
      url: MODULE_URL,
      movesItems: true,
      movesResults: true,
      terminateAfterMs: Number.POSITIVE_INFINITY,
      workerOptions: this.#workerOptions,
    });
    await pool.open();
    this.#description = (await call(pool, "describe")) as SessionDescription;
    this.#pool = pool;
    return pool;
  }
}

/** One item, which is a whole batch of rows; of what the batch is, the thread needs nothing. */
async function call(pool: ThreadPool, item: SessionCall, context?: BatchContext): Promise<SessionAnswer> {
  const { id = "", cost = 0, signal = new AbortController().signal } = context ?? {};
  const answers = await pool.run([item], { id, key: "", cost, reason: "idle", requests: [], signal });
  return (await answers[0]) as SessionAnswer;
}

function pathOf(path: unknown): string {
  if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
  if (typeof path !== "string" || path === "") throw expected("path", aPath, path, TypeError);
  return path;
}
