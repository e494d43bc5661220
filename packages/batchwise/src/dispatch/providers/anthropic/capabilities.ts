// Anthropic's capabilities and documented limits; `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";

export const anthropicCapabilities: Capabilities = {
  provider: "anthropic",
  endpoints: ["/v1/chat/completions", "/v1/messages"],
  nativeEndpoints: ["/v1/messages"],
  maxInlineBytes: Number.POSITIVE_INFINITY,
  /**
   * No metadata, no name, no idempotency. In a dedicated workspace, an unknown batch must be ours.
   */
  tag: "none",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: false,
  ledgerScope: "account",
  jsonSchemas: "strict",
  limits: {
    maxRequests: 100_000,
    /** 256 MB, less the brackets around the items. */
    maxBytes: 255_999_000,
    maxTokens: Number.POSITIVE_INFINITY,
    minRequests: 1,
    maxEnqueuedTokens: Number.POSITIVE_INFINITY,
    /** The limit of the first tier. */
    maxEnqueuedRequests: 100_000,
    maxEnqueuedBatches: Number.POSITIVE_INFINITY,
  },
};
