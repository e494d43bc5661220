// Errors for requests that Mistral does not support, thrown at enqueue.

import type { Json, JsonObject } from "../../contract/types.ts";
import { checkFields, type Refusals, refusalsOf } from "../shapes/refusals.ts";

export const refuse: Refusals = refusalsOf("Mistral");
export const invalid: Refusals["invalid"] = refuse.invalid;
export const unsupported: Refusals["unsupported"] = refuse.unsupported;

/** Throws for a field that is neither null nor known. `place` ends in a dot, or is "". */
export function refuseFields(place: string, source: JsonObject, known: readonly string[]): void {
  checkFields(source, new Set(known), place.replace(/\.$/, ""), refuse);
}

export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}
