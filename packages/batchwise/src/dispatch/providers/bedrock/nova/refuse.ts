// Errors for requests that Nova does not support.

import { type Refusals, refusalsOf } from "../../shapes/refusals.ts";

export const refuse: Refusals = refusalsOf("Nova");
