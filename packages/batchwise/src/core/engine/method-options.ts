// Checks the options of a batcher's methods: the lane, and whether to drain. Throws INVALID_OPTION.

import type { CloseOptions, LaneOptions } from "../contract/types.ts";
import { aBoolean, aString, check, checkIsObject, refuseUnknown } from "../contract/validate.ts";

/** The key for `flush` and `forget`; undefined for all lanes, or for items without a key. */
export function laneOf(options: LaneOptions | undefined): string | undefined {
  checkIsObject("options", options);
  if (options !== undefined) refuseUnknown(options, ["key"]);
  const key = options?.key;
  if (key !== undefined) check("key", aString, key);
  return key;
}

/**
 * Whether to drain. `close` may be a listener or follow a promise, so unknown names are refused
 * only in a plain object.
 */
export function drainOf(options: CloseOptions | null | undefined): boolean {
  if (typeof options !== "object" || options === null) return true;
  if (isPlain(options)) refuseUnknown(options, ["drain"]);
  const { drain = true } = options;
  check("drain", aBoolean, drain);
  return drain;
}

/** A plain object of this realm or another. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
