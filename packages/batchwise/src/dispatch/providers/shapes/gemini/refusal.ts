// Errors for requests that Gemini does not support.

import { type Refusals, refusalsOf } from "../refusals.ts";

export const refuse: Refusals = refusalsOf("Gemini");
export const invalid: Refusals["invalid"] = refuse.invalid;
export const unsupported: Refusals["unsupported"] = refuse.unsupported;
