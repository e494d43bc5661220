// Capabilities and documented defaults of Mistral's Batch API; `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/** Endpoints converted from OpenAI's format. All others take Mistral's own bodies. */
const CONVERTED_ENDPOINTS: readonly string[] = ["/v1/chat/completions", "/v1/embeddings", "/v1/moderations"];

const NATIVE_ENDPOINTS: readonly string[] = [
  ...["/v1/fim/completions", "/v1/chat/moderations", "/v1/classifications", "/v1/chat/classifications"],
  ...["/v1/ocr", "/v1/conversations", "/v1/audio/transcriptions"],
];

export const mistralCapabilities: Capabilities = {
  provider: "mistral",
  // From ApiEndpoint of @mistralai/mistralai 2.7.0.
  endpoints: [...CONVERTED_ENDPOINTS, ...NATIVE_ENDPOINTS],
  nativeEndpoints: NATIVE_ENDPOINTS,
  maxInlineBytes: 0,
  tag: "metadata",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: true,
  ledgerScope: "account",
  jsonSchemas: "any",
  limits: {
    ...UNLIMITED,
    // docs.mistral.ai, known limitations: 100,000 requests and 512 MB per batch. Its page on
    // batches says 1M requests.
    maxRequests: 100_000,
    maxBytes: 512_000_000,
    // Per workspace, from the same documentation.
    maxEnqueuedRequests: 1_000_000,
  },
};
