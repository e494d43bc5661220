// Errors for requests that Mistral does not support, thrown at enqueue.

import type { Json } from "../../contract/types.ts";
import { type Refusals, refusalsOf } from "../shapes/refusals.ts";

export const refuse: Refusals = refusalsOf("Mistral");
export const invalid: Refusals["invalid"] = refuse.invalid;
export const unsupported: Refusals["unsupported"] = refuse.unsupported;

export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}
