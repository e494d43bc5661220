// A method decorator (TC39, as TypeScript 5 and esbuild compile it): the calls of all callers of a method that takes an
// array and returns a promise of one merge into batches. Each instance has a batcher of its own, made when the
// instance is constructed and held by nothing but the instance.

import type { BatchOptions } from "../contract/options.ts";
import { resolveOptions } from "../contract/resolve-options.ts";
import type { BatchContext, Batcher, Places } from "../contract/types.ts";
import { invalidOption } from "../contract/validate.ts";
import { createBatcher } from "./batch.ts";

type Method<This, Args extends readonly unknown[], Return> = (this: This, ...args: Args) => Return;

/** Decorates a method without changing its type. */
export type BatchedDecorator<Item, Result> = <
  This extends object,
  Args extends readonly [items: readonly Item[], context?: BatchContext | undefined],
  Return extends Promise<readonly Result[]>,
>(
  method: Method<This, Args, Return>,
  context: ClassMethodDecoratorContext<This, Method<This, Args, Return>>,
) => Method<This, Args, Return>;

/**
 * Decorates a method that takes an array and returns a promise of an array, one result per item: calls of all callers
 * are merged into batches, per instance, and each call gets its own part back. The method may take the batch's
 * {@link BatchContext} as a second parameter; calls give the items alone.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`, when the class is defined.
 *
 * @example
 * ```ts
 * import { batched } from "batchwise";
 * class Encoder {
 *   @batched({ maxBatchSize: 64 })
 *   async encode(texts: string[]): Promise<number[]> {
 *     return texts.map((text) => text.length);
 *   }
 * }
 * const encoder = new Encoder();
 * const [[a], [b, c]] = await Promise.all([encoder.encode(["x"]), encoder.encode(["yy", "zzz"])]); // one call
 * ```
 */
export function batched<Item, Result>(options?: BatchOptions<Item, Result>): BatchedDecorator<Item, Result> {
  resolveOptions(options);
  return (method, context) => decorate(method, context, options);
}

function decorate<This extends object, Args extends readonly unknown[], Return, Item, Result>(
  method: Method<This, Args, Return>,
  context: ClassMethodDecoratorContext<This, Method<This, Args, Return>>,
  options: BatchOptions<Item, Result> | undefined,
): Method<This, Args, Return> {
  if (context?.kind !== "method") throw invalidOption(TypeError, "Expected `batched` to decorate a method");
  const batchers = new WeakMap<This, Batcher<Item, Result>>();
  context.addInitializer(function (this: This): void {
    const handler = (items: Item[], batchContext: BatchContext): Promise<Places<Result>> =>
      Reflect.apply(method, this, [items, batchContext]) as Promise<Places<Result>>;
    batchers.set(this, createBatcher(handler, options));
  });
  const name = String(context.name);
  const merged = function (this: This, ...args: Args): Return {
    const batcher = batchers.get(this);
    if (batcher === undefined) {
      return refused(`\`${name}\` was called on an object it does not belong to.`) as Return;
    }
    if (args.slice(1).some((argument) => argument !== undefined)) {
      return refused(`\`${name}\` shares batches with other calls, so a call gives it the items alone.`) as Return;
    }
    return batcher.submitMany(args[0] as Item[]) as Return;
  };
  return Object.defineProperty(merged, "name", { value: name });
}

function refused(message: string): Promise<never> {
  return Promise.reject(new TypeError(message));
}
