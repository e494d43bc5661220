// How a request that Claude cannot be asked is refused, at Anthropic and wherever else Claude runs.

import { type Refusals, refusalsOf } from "../refusals.ts";

export const refuse: Refusals = refusalsOf("Claude");
