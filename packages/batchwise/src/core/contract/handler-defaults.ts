// What a handler says of its batcher: its name, and the options that a handler object brings along
// in its property `defaults`, as one that knows how many batches it runs at once. Each holds where
// the user's own options do not have it.

import { NO_NAME } from "./errors.ts";
import type { BatchOptions } from "./options.ts";

/** `order` holds only where the user's options have no `cost` and no `batchCost` either. */
export type HandlerDefaults = Pick<
  BatchOptions<never, never>,
  "concurrency" | "maxBatchCost" | "maxBatchSize" | "order" | "prefetch"
>;

const NAMES: readonly (keyof HandlerDefaults)[] = ["concurrency", "maxBatchCost", "maxBatchSize", "order", "prefetch"];

/** The name of a batcher whose options give none: that of its handler, where that has one. */
export function nameOfHandler(handler: unknown): string {
  const name = (handler as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === "string" ? name.replace(/^(bound )+/, "") || NO_NAME : NO_NAME;
}

/**
 * The user's options with those of the handler. What is no object is left for the check of options
 * to refuse.
 */
export function withHandlerDefaults(handler: unknown, given: unknown): unknown {
  const defaults = typeof handler === "object" ? (handler as { defaults?: unknown } | null)?.defaults : undefined;
  if (typeof defaults !== "object" || defaults === null) return given;
  if (given !== undefined && (typeof given !== "object" || given === null)) return given;
  const known = NAMES.map((name) => [name, (defaults as HandlerDefaults)[name]]);
  return mergeDefaults(given ?? {}, Object.fromEntries(known));
}

export function mergeDefaults<Given extends BatchOptions<never, never>>(
  given: Given,
  { order, ...others }: HandlerDefaults,
): Given & HandlerDefaults {
  const isMeasured = given.cost !== undefined || given.batchCost !== undefined;
  const own = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...others, ...(isMeasured ? {} : { order }), ...(Object.fromEntries(own) as Given) };
}
