// How a request that Nova cannot be asked is refused.

import { type Refusals, refusalsOf } from "../../shapes/refusals.ts";

export const refuse: Refusals = refusalsOf("Nova");
