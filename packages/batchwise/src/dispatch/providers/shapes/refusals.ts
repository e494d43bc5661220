// Errors for requests that a service does not support, thrown at enqueue: INVALID_REQUEST with the
// service and the path. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { Json, JsonObject } from "../../contract/types.ts";

export interface Refusals {
  /** The request is invalid in itself. */
  invalid(reason: string, cause?: unknown): DispatchError;
  /** The service does not support this. */
  unsupported(what: string): DispatchError;
}

/** `service`: such as "Claude" in "The request cannot be sent to Claude: …". */
export function refusalsOf(service: string): Refusals {
  const invalid = (reason: string, cause?: unknown): DispatchError =>
    new DispatchError("INVALID_REQUEST", `The request cannot be sent to ${service}: ${reason}.`, cause);
  return { invalid, unsupported: (what) => invalid(`${what} has no counterpart there`) };
}

/**
 * Throws for the first field that is neither null nor known, so that no field is dropped silently.
 * `place`: the object with the fields, such as `messages[0]`; "" for the body. `own`: further known
 * fields, of the service.
 */
export function checkFields(
  source: JsonObject,
  known: ReadonlySet<string>,
  place: string,
  refuse: Refusals,
  own?: ReadonlySet<string>,
): void {
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined || value === null || known.has(name) || own?.has(name) === true) continue;
    throw refuse.unsupported(`\`${place === "" ? name : `${place}.${name}`}\``);
  }
}

/** The fields without undefined ones. */
export function dropAbsent(fields: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}
