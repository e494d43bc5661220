// The function that makes a tensor batcher, and its types.

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

/** Answers a batch: one tensor for each feature, stacked and padded, with all rows of the batch. */
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
   * True where the handler changes its input or transfers it to a thread: it then always gets
   * memory of its own.
   */
  readonly copyInputs?: boolean;
  /**
   * Throws for a call that the handler does not take: it rejects with that error, alone. It is
   * asked at the submit, before the batcher's functions of an item get the call (while the handler
   * is not open: when the call is stacked), with the types and dimensions that its features would
   * have in a batch of their own.
   */
  checkInputs?(forms: Readonly<Record<string, TensorForm>>): void;
  /**
   * Options that suit this handler, where the caller gives none of their own; see
   * {@link HandlerDefaults}.
   */
  readonly defaults?: HandlerDefaults;
}

/** A handler object whose `run` does it all. */
interface WholeHandlerObject<Inputs, Output> extends Omit<TensorHandlerObject<Inputs, Output>, "prepare" | "finish"> {
  readonly prepare?: undefined;
  readonly finish?: undefined;
}

/** What callers pass: by default any tensors, or just those that the handler says it takes. */
type Given<Inputs> = string extends keyof Inputs ? Features : Inputs;

/**
 * A function that batches calls of tensors, with the members of any batcher. Its items are rows:
 * `stats()`, events, `inspect()` and the caps count rows, and `context.requests` of the handler has
 * one entry a row.
 */
export interface TensorBatcher<Inputs, Output> extends BatcherControls {
  /**
   * Adds the rows of one record to the next batches.
   * @returns the rows' results, in order, in the shape of the handler's answer. Rejects with the
   * first failure of a row.
   */
  (features: Given<Inputs>, options?: SubmitOptions): Promise<ResultOf<Output>>;
  /** The same. */
  submit(features: Given<Inputs>, options?: SubmitOptions): Promise<ResultOf<Output>>;
  /** Adds the rows of many records; the result of each, in order. */
  submitMany(
    records: readonly Given<Inputs>[],
    options?: SubmitManyOptions<Given<Inputs>>,
  ): Promise<ResultOf<Output>[]>;
  /** Adds the rows of many records; the outcome of each, in order. Never rejects for a record. */
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
 * A method, since compilers check options while a function's inputs are not inferred, and compare
 * methods' both ways.
 */
interface Reported<Inputs, Output> {
  run(...args: Parameters<TensorFunction<Inputs, Output>>): ReturnType<TensorFunction<Inputs, Output>>;
}

/**
 * Batches a handler of tensors. Callers pass records of tensors whose first dimension is their rows
 * (a tensor of rank 1 is one row); the handler gets one record, stacked and padded to the longest;
 * every caller gets its own rows back.
 *
 * The handler returns a tensor, a list or a record of tensors, each with a row for each row that it
 * was given; of rank 1, each element is a row. Types are kept exactly. The rows of one call may
 * travel in several batches.
 *
 * @param handler a function, or an object with `run`; see {@link TensorFunction} and
 * {@link TensorHandlerObject}.
 * @param options those of any batcher, and how features are padded; see {@link TensorBatchOptions}.
 * `maxBatchSize` counts rows. Without a `cost`, a row costs its length and a batch rows x longest
 * (`batchCost: "padded"`), so that `maxBatchCost` is a cap on padded elements.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range. A call rejects with one where its tensors are malformed, and with BATCH_RESULT
 * where the handler's rows do not match.
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
// Compilers report the last signature: see `BatcherMaker`.
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
  return callable(
    core,
    (features: unknown, submit?: SubmitOptions) => core.submit(features, submit),
    core.options.name,
  );
}
