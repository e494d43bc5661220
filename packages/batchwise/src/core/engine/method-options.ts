// What the options of a batcher's methods say, checked: which lane, and whether to drain. Throws INVALID_OPTION.

import type { CloseOptions, LaneOptions } from "../contract/types.ts";
import { aBoolean, aString, check, checkIsObject, refuseUnknown } from "../contract/validate.ts";

/** The key that `flush` and `forget` mean; undefined for all, or for items without a key. */
export function laneOf(options: LaneOptions | undefined): string | undefined {
  checkIsObject("options", options);
  if (options !== undefined) refuseUnknown(options, ["key"]);
  const key = options?.key;
  if (key !== undefined) check("key", aString, key);
  return key;
}

/** Whether to drain. `close` may be a listener, or follow a promise: what is no plain object has nothing to say of it. */
export function drainOf(options: CloseOptions | undefined): boolean {
  if (!isPlainObject(options)) return true;
  refuseUnknown(options, ["drain"]);
  const { drain = true } = options;
  check("drain", aBoolean, drain);
  return drain;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
