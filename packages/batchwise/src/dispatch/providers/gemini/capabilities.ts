// The Gemini API as a record. Figures are the documented ones
// (ai.google.dev/gemini-api/docs/batch-api and rate-limits); `limits` overrides each.

import type { Capabilities } from "../../contract/account.ts";
import type { Endpoint } from "../../contract/types.ts";

/** Endpoints of Gemini's own, whose bodies travel as they are. */
const GENERATE: Endpoint = "/v1beta/generateContent";
export const EMBED: Endpoint = "/v1beta/embedContent";

/**
 * A create may carry 20 MB. What was sent inline also comes back inline, with every look at the
 * batch and perhaps with every list; a vector takes hundreds of times the bytes of its text.
 */
export const DEFAULT_INLINE_BYTES = 200_000;
/** An inline request is up to a fifth longer than its line. */
export const MOST_INLINE_BYTES = 16_000_000;

export const geminiCapabilities: Capabilities = {
  provider: "gemini",
  endpoints: ["/v1/chat/completions", "/v1/embeddings", GENERATE, EMBED],
  nativeEndpoints: [GENERATE, EMBED],
  maxInlineBytes: DEFAULT_INLINE_BYTES,
  /** The batch's display name. */
  tag: "metadata",
  /** In which order batches are listed is not documented. Inline results make pages large. */
  list: { paged: true, pageSize: 20, newestFirst: false },
  listsFiles: true,
  ledgerScope: "model",
  limits: {
    maxRequests: Number.POSITIVE_INFINITY,
    /** Of one file. */
    maxBytes: 2_000_000_000,
    maxTokens: Number.POSITIVE_INFINITY,
    minRequests: 1,
    /**
     * Differs by model and tier, as 3,000,000 for gemini-2.5-flash in tier 1: learned from refusals
     * unless given.
     */
    maxEnqueuedTokens: Number.POSITIVE_INFINITY,
    maxEnqueuedRequests: Number.POSITIVE_INFINITY,
    maxEnqueuedBatches: 100,
  },
};
