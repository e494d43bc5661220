// A model in worker threads, as a handler object for `batchTensors`: one session of
// onnxruntime-node a thread.
//
// Guarantees: the thread of the batcher never waits for a run; a thread that dies fails the batch
// that it had and is replaced; no thread is ended inside a run, which would abort the process.

import { fileURLToPath } from "node:url";
import { bindMethods } from "../core/contract/bind-methods.ts";
import type { HandlerDefaults } from "../core/contract/handler-defaults.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { checkIsObject, expected, objectWith, type Rule, refuseUnknown } from "../core/contract/validate.ts";
import type { TensorForm } from "../tensor/batch-input.ts";
import type { FeaturesOf, Tensor } from "../tensor/types.ts";
import { checkCall } from "./feeds.ts";
import { ModelThreads, type ModelThreadsOptions, THREAD_OPTIONS } from "./model-threads.ts";
import type { SessionAnswer, SessionCall, SessionDescription } from "./session-protocol.ts";

/** Options of `onnxModel`. */
export interface OnnxModelOptions extends ModelThreadsOptions {
  /** The .onnx file: a path, or a `file:` URL as object. */
  readonly path: string | URL;
  /** Names of the outputs that callers get. Default: all of the model's. */
  readonly outputs?: readonly string[] | undefined;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** A handler object for one `batchTensors`, which opens and closes it. */
export interface OnnxModel<Inputs, Output> {
  /**
   * Loads the model in each thread. Rejects with MODEL_LOAD, path and reason, with every thread
   * ended.
   */
  open(): Promise<void>;
  /**
   * Runs the model once. The features' buffers are handed over where they are whole: they are empty
   * afterwards.
   */
  run(features: Inputs, context?: BatchContext): Promise<Output>;
  /**
   * Throws MODEL_INPUT for a call that the model does not take: it fails alone, and is not padded
   * until it fits.
   */
  checkInputs(forms: Readonly<Record<string, TensorForm>>): void;
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
  /**
   * As many batches at once as there are workers, of rows of like length, as large as pays for this
   * model.
   */
  readonly defaults: HandlerDefaults;
}

/**
 * A model in worker threads of Node.js, for `batchTensors`. Its rows' tensors are stacked in this
 * thread while the threads run other batches; buffers are handed over without copies.
 *
 * It brings defaults along, which your own options override: `concurrency` is `workers`,
 * `maxBatchCost` is `"learn"`, and `order` is `"length"`. It is for one batcher: that one opens and
 * closes it.
 *
 * A batch rejects with MODEL_INPUT for tensors that are not the model's inputs, with MODEL_FAILED
 * where the runtime fails on it (`isolateFailures: true` leaves that to the row that is to blame),
 * and with THREAD_ENDED (`retryable`) where the thread dies.
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

const OPTIONS: readonly (keyof OnnxModelOptions)[] = ["path", "outputs", ...THREAD_OPTIONS];

const HINTS: Readonly<Record<string, string>> = {
  concurrency: "it is an option of `batchTensors`; threads are `workers`",
  model: "it is `path`",
  modelPath: "it is `path`",
  intraOpNumThreads: "it is `intraOpThreads`",
};

const aPath: Rule = { ...objectWith(), expected: "the path of an .onnx file, or a file: URL" };

class ThreadedModel implements OnnxModel<Extract<SessionCall, object>, Tensors> {
  readonly copyInputs = true;
  readonly defaults: HandlerDefaults;
  readonly #threads: ModelThreads<SessionCall, SessionAnswer>;
  #description: SessionDescription = { inputNames: [], outputNames: [] };

  constructor(options: OnnxModelOptions) {
    if (options === undefined) throw expected("options", objectWith(), options);
    checkIsObject("options", options);
    refuseUnknown(options, OPTIONS, "", HINTS);
    const { path, outputs, ...others } = options;
    this.#threads = new ModelThreads({ file: "session-handler", path: pathOf(path), data: { outputs } }, others);
    const { workers } = this.#threads;
    this.defaults = Object.freeze({ concurrency: workers, maxBatchCost: "learn", order: "length" } as const);
    bindMethods(this);
  }

  get ready(): boolean {
    return this.#threads.ready;
  }

  get restarts(): number {
    return this.#threads.restarts;
  }

  get inputNames(): readonly string[] {
    return this.#description.inputNames;
  }

  get outputNames(): readonly string[] {
    return this.#description.outputNames;
  }

  async open(): Promise<void> {
    await this.#threads.open();
    this.#description = (await this.#threads.run("describe")) as SessionDescription;
  }

  checkInputs(forms: Readonly<Record<string, TensorForm>>): void {
    checkCall(this.#description, forms);
  }

  async run(features: Extract<SessionCall, object>, context?: BatchContext): Promise<Tensors> {
    return (await this.#threads.run(features, context)) as Tensors;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

function pathOf(path: unknown): string {
  if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
  if (typeof path !== "string" || path === "") throw expected("path", aPath, path, TypeError);
  return path;
}
