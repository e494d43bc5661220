// Finds the batcher behind a decorated method, by object and method name.

import { describe } from "../core/contract/errors.ts";
import type { Batcher } from "../core/contract/types.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { ObjectBatchers } from "./object-batchers.ts";

/** The batcher behind a decorated method of this type. */
export type BatcherOfMethod<Method> = Method extends (
  items: infer Items extends readonly unknown[],
  ...rest: never[]
) => PromiseLike<infer Results extends readonly unknown[]>
  ? Batcher<Items[number], Results[number]>
  : Batcher<unknown, unknown>;

/**
 * The batcher behind a method that is decorated with `batched`: its options, setters (`configure`),
 * statistics, events, `pause`, `flush`, `close`.
 *
 * @param instance the instance, or the class for a static method.
 * @param method the method's name; for a private method with its `#`.
 * @throws TypeError with `code: "INVALID_OPTION"` if the object has no decorated method of that
 * name.
 *
 * @example
 * ```ts
 * import { batched, batcherOf } from "batchwise";
 * class Encoder {
 *   @batched({ maxBatchSize: 64 })
 *   async encode(texts: string[]): Promise<number[]> {
 *     return texts.map((text) => text.length);
 *   }
 * }
 * const encoder = new Encoder();
 * batcherOf(encoder, "encode").configure({ maxBatchSize: 128 });
 * const { completed } = batcherOf(encoder, "encode").stats();
 * ```
 */
export function batcherOf<Instance extends object, Name extends keyof Instance>(
  instance: Instance,
  method: Name,
): BatcherOfMethod<Instance[Name]>;
/**
 * For private methods, whose types the compiler does not show: give the types of an item and of a
 * result.
 */
export function batcherOf<Item = unknown, Result = unknown>(
  instance: object,
  method: string | symbol,
): Batcher<Item, Result>;
export function batcherOf(instance: unknown, method: unknown): unknown {
  const name = typeof method === "symbol" ? method : String(method);
  const batcher = ObjectBatchers.of(instance)?.named(name);
  if (batcher !== undefined) return batcher;
  const message = `Expected \`method\` to name a method of \`instance\` that is decorated with \`batched\`, got ${describe(method)}`;
  throw invalidOption(TypeError, message);
}
