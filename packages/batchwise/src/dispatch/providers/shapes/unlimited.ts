// Limits for a provider that documents none. Its record overrides any that it has. Pure.

import type { ProviderLimits } from "../../contract/capabilities.ts";

const NONE: number = Number.POSITIVE_INFINITY;

export const UNLIMITED: ProviderLimits = {
  maxRequests: NONE,
  maxBytes: NONE,
  maxTokens: NONE,
  minRequests: 1,
  maxEnqueuedTokens: NONE,
  maxEnqueuedRequests: NONE,
  maxEnqueuedBatches: NONE,
};
