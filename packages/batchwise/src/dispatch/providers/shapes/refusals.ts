// How a request that a service cannot be asked is refused at enqueue: INVALID_REQUEST, with the
// service and the place in words. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { Json, JsonObject } from "../../contract/types.ts";

export interface Refusals {
  /** The request is wrong in itself. */
  invalid(reason: string, cause?: unknown): DispatchError;
  /** The service has no such thing. */
  unsupported(what: string): DispatchError;
}

/** `service` as in "The request cannot be sent to Claude: …". */
export function refusalsOf(service: string): Refusals {
  const invalid = (reason: string, cause?: unknown): DispatchError =>
    new DispatchError("INVALID_REQUEST", `The request cannot be sent to ${service}: ${reason}.`, cause);
  return { invalid, unsupported: (what) => invalid(`${what} has no counterpart there`) };
}

/**
 * Throws for the first field that is neither null nor known, so that no field is dropped in
 * silence. `place` is what the fields belong to, as in `messages[0]`; "" for the body itself.
 */
export function checkFields(source: JsonObject, known: ReadonlySet<string>, place: string, refuse: Refusals): void {
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined || value === null || known.has(name)) continue;
    throw refuse.unsupported(`\`${place === "" ? name : `${place}.${name}`}\``);
  }
}

/** The same fields without those that are undefined. */
export function dropAbsent(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}
