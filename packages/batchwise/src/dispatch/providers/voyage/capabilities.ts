// Voyage's Batch API as a record of OpenAI's shape: docs.voyageai.com/docs/batch-inference, and
// MongoDB's guide to it with OpenAI's client. Limits are the documented ones; inputs of a request
// by docs.voyageai.com/reference/embeddings-api ("The maximum length of the list is 1,000").

import type { OpenAiService } from "../openai/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/**
 * 1 GB and 100,000 inputs in a batch, 12 hours. Model and parameters go with the create. Right
 * after an upload a create may be refused with 404 "Input file not found".
 */
export const voyageService: OpenAiService = {
  filePurpose: "batch",
  completionWindow: "12h",
  maxInputs: 1_000,
  processesFiles: true,
  lineFields: {
    "/v1/embeddings": ["input"],
    "/v1/contextualizedembeddings": ["inputs"],
    "/v1/rerank": ["query", "documents"],
  },
  capabilities: {
    provider: "voyage",
    endpoints: ["/v1/embeddings", "/v1/contextualizedembeddings", "/v1/rerank"],
    maxInlineBytes: 0,
    tag: "metadata",
    list: { paged: true, pageSize: 100, newestFirst: true },
    listsFiles: true,
    ledgerScope: "model",
    limits: {
      ...UNLIMITED,
      maxRequests: 100_000,
      maxBytes: 1_000_000_000,
      maxInputs: 100_000,
    },
  },
};
