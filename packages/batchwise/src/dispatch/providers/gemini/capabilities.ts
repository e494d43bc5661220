// The Gemini API's capabilities and documented limits
// (ai.google.dev/gemini-api/docs/batch-api and rate-limits); `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";
import type { Endpoint } from "../../contract/types.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/** Gemini's own endpoints, whose bodies are not converted. */
const GENERATE: Endpoint = "/v1beta/generateContent";
export const EMBED: Endpoint = "/v1beta/embedContent";

/**
 * A create may have 20 MB. But inline requests and results come back with every look at the batch
 * and perhaps with every list, and a vector takes hundreds of times the bytes of its text.
 */
export const DEFAULT_INLINE_BYTES = 200_000;
/** An inline request may be a fifth longer than its line. */
export const MOST_INLINE_BYTES = 16_000_000;

export const geminiCapabilities: Capabilities = {
  provider: "gemini",
  endpoints: ["/v1/chat/completions", "/v1/embeddings", GENERATE, EMBED],
  nativeEndpoints: [GENERATE, EMBED],
  maxInlineBytes: DEFAULT_INLINE_BYTES,
  /** The batch's display name. */
  tag: "metadata",
  /** The order of lists is undocumented. Inline results make pages large. */
  list: { paged: true, pageSize: 20, newestFirst: false },
  listsFiles: true,
  ledgerScope: "model",
  jsonSchemas: "any",
  limits: {
    ...UNLIMITED,
    /** Per file. */
    maxBytes: 2_000_000_000,
    // Enqueued tokens differ by model and tier, for example 3,000,000 for gemini-2.5-flash in tier
    // 1. Learned from refusals unless given.
    maxEnqueuedBatches: 100,
  },
};
