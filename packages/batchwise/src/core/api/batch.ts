// The two ways to make a batcher: as an object, and as a function that submits one item.

import type { BatchOptions } from "../contract/options.ts";
import type {
  Batcher,
  BatchFunction,
  ElementOf,
  HandlerFunction,
  HandlerObject,
  NumericArray,
  NumericHandlerFunction,
  PlainHandlerObject,
  ResultOf,
  SubmitOptions,
} from "../contract/types.ts";
import { BatcherCore } from "../engine/batcher.ts";
import { callable } from "./callable.ts";

/**
 * Makes a batcher: single items go in, `handler` gets full batches, every caller gets its own result.
 *
 * @param handler answers a batch with one result per item, in order; see {@link HandlerFunction} and {@link HandlerObject}.
 * @param options limits and behaviour; durations in milliseconds.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or out of range.
 *
 * @example
 * ```ts
 * import { createBatcher } from "batchwise";
 * await using lengths = createBatcher(async (texts: string[]) => texts.map((text) => text.length), { maxBatchSize: 64 });
 * const [a, b] = await Promise.all([lengths.submit("one"), lengths.submit("three")]);
 * ```
 */
export function createBatcher<Item, Numbers extends NumericArray>(
  handler: NumericHandlerFunction<Item, Numbers>,
  options?: BatchOptions<Item, Numbers[number]>,
): Batcher<Item, Numbers[number]>;
export function createBatcher<Item, Result>(
  handler: HandlerFunction<Item, Result>,
  options?: BatchOptions<Item, Result>,
): Batcher<Item, Result>;
export function createBatcher<Item, Result>(
  handler: PlainHandlerObject<Item, Result>,
  options?: BatchOptions<Item, Result>,
): Batcher<Item, Result>;
export function createBatcher<Output, Input, Prepared = ElementOf<Input>, Item = Prepared, Result = ResultOf<Output>>(
  handler: HandlerObject<Item, Result, Prepared, Input, Output>,
  options?: BatchOptions<Item, Result>,
): Batcher<Item, Result>;
export function createBatcher(handler: unknown, options?: unknown): unknown {
  return new BatcherCore(handler, options);
}

/**
 * Makes a function that batches: `fn(item)` submits one item and returns a promise of its result. Everything that a
 * {@link Batcher} has is on the function as well.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or out of range.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * const double = batch(async (numbers: number[]) => numbers.map((n) => n * 2));
 * const [two, four] = await Promise.all([double(1), double(2)]); // one call of the handler
 * await double.close();
 * ```
 */
export function batch<Item, Numbers extends NumericArray>(
  handler: NumericHandlerFunction<Item, Numbers>,
  options?: BatchOptions<Item, Numbers[number]>,
): BatchFunction<Item, Numbers[number]>;
export function batch<Item, Result>(
  handler: HandlerFunction<Item, Result>,
  options?: BatchOptions<Item, Result>,
): BatchFunction<Item, Result>;
export function batch<Item, Result>(
  handler: PlainHandlerObject<Item, Result>,
  options?: BatchOptions<Item, Result>,
): BatchFunction<Item, Result>;
export function batch<Output, Input, Prepared = ElementOf<Input>, Item = Prepared, Result = ResultOf<Output>>(
  handler: HandlerObject<Item, Result, Prepared, Input, Output>,
  options?: BatchOptions<Item, Result>,
): BatchFunction<Item, Result>;
export function batch(handler: unknown, options?: unknown): unknown {
  const core = new BatcherCore(handler, options);
  return callable(core, (item: unknown, submit?: SubmitOptions) => core.submit(item, submit));
}
