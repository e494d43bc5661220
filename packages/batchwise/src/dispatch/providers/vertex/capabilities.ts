// Vertex AI's capabilities and documented limits, each with its source; `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";
import type { Endpoint } from "../../contract/types.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";
import type { VertexFamily } from "./family.ts";

/** Gemini's and Anthropic's own requests, whose bodies are not converted. */
export const GENERATE: Endpoint = "/v1beta/generateContent";
export const MESSAGES: Endpoint = "/v1/messages";

/** Batch endpoints of each model family. */
export const ENDPOINTS: Readonly<Record<VertexFamily, readonly Endpoint[]>> = {
  gemini: ["/v1/chat/completions", GENERATE],
  claude: ["/v1/chat/completions", MESSAGES],
  // cloud.google.com/vertex-ai/generative-ai/docs/maas/capabilities/batch-prediction
  openai: ["/v1/chat/completions", "/v1/embeddings"],
  embedding: ["/v1/embeddings"],
};

export const vertexCapabilities: Capabilities = {
  provider: "vertex",
  endpoints: [...new Set(Object.values(ENDPOINTS).flat())],
  nativeEndpoints: [GENERATE, MESSAGES],
  /** Lines are an object in Cloud Storage. */
  maxInlineBytes: 0,
  /** Two labels to find a job, and the display name to identify it. */
  tag: "metadata",
  /** The order of lists is undocumented. */
  list: { paged: true, pageSize: 100, newestFirst: false },
  listsFiles: true,
  ledgerScope: "account",
  jsonSchemas: "any",
  limits: {
    ...UNLIMITED,
    // Both for Gemini:
    // cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-gemini
    maxRequests: 200_000,
    maxBytes: 1_000_000_000,
  },
};

/**
 * Texts per job
 * (docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/batch-prediction-genai-embeddings).
 */
export const MOST_TEXTS = 30_000;

/** Per project (cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/batch). */
export const MOST_CLAUDE_BATCHES = 4;
