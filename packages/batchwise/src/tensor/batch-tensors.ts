// Makes tensor batchers; declares their types.

import type { HandlerDefaults } from "../core/contract/handler-defaults.ts";
import type { Mapped, MapSource } from "../core/contract/map-options.ts";
import type {
  BatchContext,
  BatcherControls,
  MapOptions,
  SubmitManyOptions,
  SubmitOptions,
} from "../core/contract/types.ts";
import { callable } from "../makers/callable.ts";
import type { TensorForm } from "./batch-input.ts";
import type { ResolvedTensorOptions, TensorBatchOptions } from "./options.ts";
import { TensorBatcherCore } from "./tensor-batcher.ts";
import type { Features, FeaturesOf, Outputs, OutputsOf, ResultOf, Tensor } from "./types.ts";

/**
 * Answers a batch: receives one tensor per feature, stacked and padded, with all rows of the batch.
 */
export type TensorFunction<Inputs, Output> = (features: Inputs, context: BatchContext) => Output | PromiseLike<Output>;

/**
 * A handler in stages. With `prefetch >= 1` stacking, `prepare` and `finish` of one batch overlap
 * `run` of another. `open` runs once before the first batch, `close` once after the last.
 */
export interface TensorHandlerObject<Inputs, Output, Input = Inputs, Raw = Output> {
  prepare?(features: Inputs, context: BatchContext): Input | PromiseLike<Input>;
  run(input: Input, context: BatchContext): Raw | PromiseLike<Raw>;
  finish?(output: Raw, context: BatchContext): Output | PromiseLike<Output>;
  open?(): void | PromiseLike<void>;
  close?(): void | PromiseLike<void>;
  /**
   * True if the handler changes its input or transfers it to a thread: then it always gets its own
   * memory.
   */
  readonly copyInputs?: boolean;
  /**
   * Throws for a call that the handler does not take; only that call rejects, with this error.
   * Called at the submit, before the batcher's functions of an item (while the handler is not open:
   * when the call is stacked), with the types and dimensions that the call's features would have in
   * a batch of their own.
   */
  checkInputs?(forms: Readonly<Record<string, TensorForm>>): void;
  /**
   * Defaults that suit this handler; the caller's options override them. See
   * {@link HandlerDefaults}.
   */
  readonly defaults?: HandlerDefaults;
}

/** A handler object with only `run`. */
interface WholeHandlerObject<Inputs, Output> extends Omit<TensorHandlerObject<Inputs, Output>, "prepare" | "finish"> {
  readonly prepare?: undefined;
  readonly finish?: undefined;
}

/**
 * The callers' argument: any tensors by default, or the tensors that the handler's type declares.
 */
type Given<Inputs> = string extends keyof Inputs ? Features : Inputs;

/**
 * A function that batches calls of tensors, with the members of any batcher. Its items are rows:
 * `stats()`, events, `inspect()` and the limits count rows, and the handler's `context.requests`
 * has one entry per row.
 */
export interface TensorBatcher<Inputs, Output> extends BatcherControls {
  /**
   * Adds the rows of one record to the next batches.
   * @returns the rows' results, in order, in the form of the handler's answer. Rejects with the
   * first failure of a row.
   */
  (features: Given<Inputs>, options?: SubmitOptions): Promise<ResultOf<Output>>;
  /** The same as calling the function. */
  submit(features: Given<Inputs>, options?: SubmitOptions): Promise<ResultOf<Output>>;
  /** Adds the rows of many records; resolves with the result of each, in order. */
  submitMany(
    records: readonly Given<Inputs>[],
    options?: SubmitManyOptions<Given<Inputs>>,
  ): Promise<ResultOf<Output>[]>;
  /**
   * Adds the rows of many records; resolves with the outcome of each, in order. Never rejects
   * because of a record.
   */
  submitSettled(
    records: readonly Given<Inputs>[],
    options?: SubmitManyOptions<Given<Inputs>>,
  ): Promise<PromiseSettledResult<ResultOf<Output>>[]>;
  /**
   * The results of a source of records, read with `for await`; see `Batcher.map`. `maxPending`
   * counts records.
   */
  map<Settled extends boolean = false>(
    source: MapSource<Given<Inputs>>,
    options?: MapOptions<Given<Inputs>, Settled>,
  ): AsyncIterableIterator<Mapped<ResultOf<Output>, Settled>, undefined>;
  readonly options: ResolvedTensorOptions;
}

/**
 * A method, because compilers check options before they infer a function's inputs, and compare
 * methods bivariantly.
 */
interface Reported<Inputs, Output> {
  run(...args: Parameters<TensorFunction<Inputs, Output>>): ReturnType<TensorFunction<Inputs, Output>>;
}

/**
 * Batches a handler of tensors. Callers pass records of tensors whose first dimension is their rows
 * (a tensor of rank 1 is one row). The handler gets one record, stacked and padded to the longest
 * row. Every caller gets its own rows back.
 *
 * The handler returns a tensor, a list or a record of tensors, each with one row per input row; in
 * a tensor of rank 1, each element is a row. Types are kept exactly. The rows of one call may be in
 * several batches.
 *
 * @param handler a function, or an object with `run`; see {@link TensorFunction} and
 * {@link TensorHandlerObject}.
 * @param options any batcher's options, and the padding of features; see
 * {@link TensorBatchOptions}. `maxBatchSize` counts rows. Without a `cost`, a row costs its length
 * and a batch costs rows x longest row (`batchCost: "padded"`), so `maxBatchCost` limits padded
 * elements.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range. A call rejects with one if its tensors are malformed, and with BATCH_RESULT if the
 * handler's rows do not match.
 *
 * @example
 * ```ts
 * import { batchTensors, type Tensor } from "batchwise/tensor";
 * const double = batchTensors(({ input }: { input: Tensor<"float32"> }) => {
 *   return { ...input, data: input.data.map((value) => value * 2) };
 * });
 * const one = double({ input: { type: "float32", data: Float32Array.of(1, 2), dims: [1, 2] } });
 * const two = double({ input: { type: "float32", data: Float32Array.of(3), dims: [1, 1] } });
 * console.log(await Promise.all([one, two])); // one call of the handler, with dims [2, 2]
 * ```
 */
export function batchTensors<
  Inputs extends FeaturesOf<Inputs> = Readonly<Record<string, Tensor>>,
  Output extends OutputsOf<Output> = Outputs,
>(
  handler: TensorFunction<Inputs, Output>,
  options?: TensorBatchOptions<Inputs, ResultOf<Output>>,
): TensorBatcher<Inputs, Output>;
export function batchTensors<
  Inputs extends FeaturesOf<Inputs> = Readonly<Record<string, Tensor>>,
  Output extends OutputsOf<Output> = Outputs,
>(
  handler: WholeHandlerObject<Inputs, Output>,
  options?: TensorBatchOptions<Inputs, ResultOf<Output>>,
): TensorBatcher<Inputs, Output>;
export function batchTensors<
  Inputs extends FeaturesOf<Inputs> = Readonly<Record<string, Tensor>>,
  Output extends OutputsOf<Output> = Outputs,
  Input = Inputs,
  Raw = Output,
>(
  handler: TensorHandlerObject<Inputs, Output, Input, Raw>,
  options?: TensorBatchOptions<Inputs, ResultOf<Output>>,
): TensorBatcher<Inputs, Output>;
// Compilers report errors of the last signature: see `BatcherMaker`.
export function batchTensors<
  Inputs extends FeaturesOf<Inputs> = Readonly<Record<string, Tensor>>,
  Output extends OutputsOf<Output> = Outputs,
  Input = Inputs,
  Raw = Output,
>(
  handler: Reported<Inputs, Output>["run"] | TensorHandlerObject<Inputs, Output, Input, Raw>,
  options?: TensorBatchOptions<Inputs, ResultOf<Output>>,
): TensorBatcher<Inputs, Output>;
export function batchTensors(handler: unknown, options?: unknown): unknown {
  const core = new TensorBatcherCore(handler, options);
  const { name } = core.options;
  return callable(core, name, {
    [name]: (features: unknown, submit?: SubmitOptions) => core.submit(features, submit),
  });
}
