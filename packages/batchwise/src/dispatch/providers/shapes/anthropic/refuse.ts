// Errors for requests that Claude does not support, at Anthropic and elsewhere.

import { type Refusals, refusalsOf } from "../refusals.ts";

export const refuse: Refusals = refusalsOf("Claude");
