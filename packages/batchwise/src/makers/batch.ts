// Makes a batcher as an object, or as a function that submits one item.

import { bindOnce } from "../core/contract/bind-methods.ts";
import type { SubmitOptions } from "../core/contract/types.ts";
import { BatcherCore, HOT } from "../core/engine/batcher.ts";
import type { BatcherMaker } from "./batcher-maker.ts";
import { callable } from "./callable.ts";
import { extensions } from "./extensions.ts";

/**
 * Makes a batcher: callers submit single items, `handler` gets full batches, every caller gets its
 * own result.
 *
 * @param handler answers a batch with one result per item, in order; see `HandlerFunction` and
 * `HandlerObject`.
 * @param options limits and behaviour; durations in milliseconds.
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range.
 *
 * @example
 * ```ts
 * import { createBatcher } from "batchwise";
 * const measure = async (texts: string[]) => texts.map((text) => text.length);
 * await using lengths = createBatcher(measure, { maxBatchSize: 64 });
 * const [a, b] = await Promise.all([lengths.submit("one"), lengths.submit("three")]);
 * ```
 */
export const createBatcher: BatcherMaker<"object"> = (handler: unknown, options?: unknown) =>
  bindOnce(new BatcherCore(handler, options, extensions), HOT) as never;

/**
 * Makes a function that batches: `fn(item)` submits one item and returns a promise of its result.
 * The function has all members of a `Batcher`.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for an option that is unknown or
 * out of range.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * const double = batch(async (numbers: number[]) => numbers.map((n) => n * 2));
 * const [two, four] = await Promise.all([double(1), double(2)]); // one call of the handler
 * await double.close();
 * ```
 */
export const batch: BatcherMaker<"function"> = (handler: unknown, options?: unknown) => {
  const core = new BatcherCore(handler, options, extensions);
  const { name } = core.options;
  return callable(core, name, {
    [name]: (item: unknown, submit?: SubmitOptions) => core.submit(item, submit),
  }) as never;
};
