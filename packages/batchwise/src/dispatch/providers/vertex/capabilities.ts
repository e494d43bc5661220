// Vertex AI as a record. Figures are the documented ones, named beside each; `limits` overrides
// each.

import type { Capabilities } from "../../contract/account.ts";
import type { Endpoint } from "../../contract/types.ts";
import type { VertexFamily } from "./family.ts";

/** Gemini's own requests and Anthropic's own messages, whose bodies travel as they are. */
export const GENERATE: Endpoint = "/v1beta/generateContent";
export const MESSAGES: Endpoint = "/v1/messages";

/** Which endpoints each family of models has in batches. */
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
  /** The lines are an object in Cloud Storage. */
  maxInlineBytes: 0,
  /** Two labels, by which jobs are found, and the display name, by which they are known. */
  tag: "metadata",
  /** In which order jobs are listed is not documented. */
  list: { paged: true, pageSize: 100, newestFirst: false },
  listsFiles: true,
  ledgerScope: "account",
  limits: {
    // Both of Gemini:
    // cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-gemini
    maxRequests: 200_000,
    maxBytes: 1_000_000_000,
    maxTokens: Number.POSITIVE_INFINITY,
    minRequests: 1,
    maxEnqueuedTokens: Number.POSITIVE_INFINITY,
    maxEnqueuedRequests: Number.POSITIVE_INFINITY,
    maxEnqueuedBatches: Number.POSITIVE_INFINITY,
  },
};

/**
 * Texts of one job
 * (docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/batch-prediction-genai-embeddings).
 */
export const MOST_TEXTS = 30_000;

/** Of a project (cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/batch). */
export const MOST_CLAUDE_BATCHES = 4;
