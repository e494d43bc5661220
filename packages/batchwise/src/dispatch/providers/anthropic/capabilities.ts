// Anthropic as a record. Figures are the documented ones; `limits` overrides each.

import type { Capabilities } from "../../contract/account.ts";

export const anthropicCapabilities: Capabilities = {
  provider: "anthropic",
  endpoints: ["/v1/chat/completions", "/v1/messages"],
  nativeEndpoints: ["/v1/messages"],
  maxInlineBytes: Number.POSITIVE_INFINITY,
  /** No metadata, no name, no idempotency: a dedicated workspace makes an unknown id conclusive. */
  tag: "none",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: false,
  ledgerScope: "account",
  limits: {
    maxRequests: 100_000,
    /** 256 MB, less the brackets around the items. */
    maxBytes: 255_999_000,
    maxTokens: Number.POSITIVE_INFINITY,
    minRequests: 1,
    maxEnqueuedTokens: Number.POSITIVE_INFINITY,
    /** Of the first tier. */
    maxEnqueuedRequests: 100_000,
    maxEnqueuedBatches: Number.POSITIVE_INFINITY,
  },
};
