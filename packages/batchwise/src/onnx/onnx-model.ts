// A model in worker threads, as a handler object for `batchTensors`: one session of
// onnxruntime-node per thread.
//
// Guarantees: the batcher's thread never waits for a run. If a thread dies, its batch fails and the
// thread is replaced. No thread is ended inside a run, because that would abort the process.

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
  /** The .onnx file: a path or a `file:` URL. */
  readonly path: string | URL;
  /** Names of the outputs that callers get. Default: all of the model's. */
  readonly outputs?: readonly string[] | undefined;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** A handler object for one batcher: `batchTensors` opens and closes it. */
export interface OnnxModel<Inputs, Output> {
  /**
   * Loads the model in each thread. Rejects with MODEL_LOAD, the path and the reason, after every
   * thread has ended.
   */
  open(): Promise<void>;
  /**
   * Runs the model once. Transfers the features' buffers where a tensor fills its buffer; such a
   * buffer is empty afterwards.
   */
  run(features: Inputs, context?: BatchContext): Promise<Output>;
  /**
   * Throws MODEL_INPUT for a call that the model does not take. Only that call fails; it is not
   * padded until it fits.
   */
  checkInputs(forms: Readonly<Record<string, TensorForm>>): void;
  /** Finishes running batches, releases the sessions, ends the threads. */
  close(): Promise<void>;
  /** True while at least one thread has loaded the model. */
  readonly ready: boolean;
  /** Number of threads that were started to replace dead ones. */
  readonly restarts: number;
  /** The model's inputs. Empty until it is open. */
  readonly inputNames: readonly string[];
  /** The outputs that callers get. Empty until it is open. */
  readonly outputNames: readonly string[];
  /** A run transfers its input, so `batchTensors` copies the tensors of its callers. */
  readonly copyInputs: true;
  /**
   * As many concurrent batches as workers; batches of rows of similar length, of a size that suits
   * this model.
   */
  readonly defaults: HandlerDefaults;
}

/**
 * A model in worker threads of Node.js, for `batchTensors`. This thread stacks the rows' tensors
 * while the worker threads run other batches; buffers are transferred without copies.
 *
 * It has its own defaults, which your options override: `concurrency` is `workers`, `maxBatchCost`
 * is `"learn"`, and `order` is `"length"`. Use it for one batcher, which opens and closes it.
 *
 * A batch rejects with MODEL_INPUT for tensors that are not the model's inputs, with MODEL_FAILED
 * if the runtime fails on it (with `isolateFailures: true` only for the row that causes it), and
 * with THREAD_ENDED (`retryable`) if the thread dies.
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
