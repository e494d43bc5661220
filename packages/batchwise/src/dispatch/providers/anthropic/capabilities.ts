// Anthropic's capabilities and documented limits; `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

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
    ...UNLIMITED,
    maxRequests: 100_000,
    /** 256 MB, less the brackets around the items. */
    maxBytes: 255_999_000,
    /** The limit of the first tier. */
    maxEnqueuedRequests: 100_000,
  },
};
