// How a request that Mistral cannot be asked is refused, when it is enqueued.

import { DispatchError } from "../../contract/errors.ts";
import type { Json, JsonObject } from "../../contract/types.ts";

export function invalid(reason: string): DispatchError {
  return new DispatchError("INVALID_REQUEST", `The request cannot be sent to Mistral: ${reason}.`);
}

export function unsupported(what: string): DispatchError {
  return invalid(`${what} has no counterpart there`);
}

/** Throws for a field that is given and that nobody here knows. `place` ends in a dot, or is "". */
export function refuseFields(place: string, source: JsonObject, known: readonly string[]): void {
  for (const [name, value] of Object.entries(source)) {
    if (isGiven(value) && !known.includes(name)) throw unsupported(`\`${place}${name}\``);
  }
}

export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}

/** Without the fields that are undefined. */
export function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
