// Errors for requests that Gemini does not support.

import type { Json } from "../../../contract/types.ts";
import { type Refusals, refusalsOf } from "../refusals.ts";

export const refuse: Refusals = refusalsOf("Gemini");
export const invalid: Refusals["invalid"] = refuse.invalid;
export const unsupported: Refusals["unsupported"] = refuse.unsupported;

export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}
