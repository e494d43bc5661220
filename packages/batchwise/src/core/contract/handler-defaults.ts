// A handler's name and its property `defaults`: options that suit the handler, such as its number
// of concurrent batches. The user's own options take precedence.

import { NO_NAME } from "./errors.ts";
import type { BatchOptions } from "./options.ts";
import { defined } from "./resolve-options.ts";

/** `order` applies only if the user gives neither `cost` nor `batchCost`. */
export type HandlerDefaults = Pick<
  BatchOptions<never, never>,
  "concurrency" | "maxBatchCost" | "maxBatchSize" | "order" | "prefetch"
>;

/** The batcher's name if its options give none: the handler's, if it has one. */
export function nameOfHandler(handler: unknown): string {
  const name = (handler as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === "string" ? name.replace(/^(bound )+/, "") || NO_NAME : NO_NAME;
}

/**
 * The user's options over the handler's. A value that is no object is returned unchanged, for the
 * option check to refuse.
 */
export function withHandlerDefaults(handler: unknown, given: unknown): unknown {
  const defaults = typeof handler === "object" ? (handler as { defaults?: unknown } | null)?.defaults : undefined;
  if (typeof defaults !== "object" || defaults === null) return given;
  if (given !== undefined && (typeof given !== "object" || given === null)) return given;
  const { concurrency, maxBatchCost, maxBatchSize, order, prefetch } = defaults as HandlerDefaults;
  return mergeDefaults(given ?? {}, { concurrency, maxBatchCost, maxBatchSize, order, prefetch });
}

export function mergeDefaults<Given extends BatchOptions<never, never>>(
  given: Given,
  { order, ...others }: HandlerDefaults,
): Given & HandlerDefaults {
  const isMeasured = given.cost !== undefined || given.batchCost !== undefined;
  return { ...others, ...(isMeasured ? {} : { order }), ...(defined(given) as Given) };
}
