// Bedrock as a record. Quotas are the defaults of the Bedrock user guide, "Quotas for Amazon
// Bedrock"; they differ by model and region, and `limits` overrides each.

import type { Capabilities } from "../../contract/account.ts";

/** Bodies of the model's own shape: of InvokeModel, and of Converse. */
export const INVOKE = "/model/invoke";
export const CONVERSE = "/model/converse";
/** Claude's own shape. */
export const MESSAGES = "/v1/messages";

export const bedrockCapabilities: Capabilities = {
  provider: "bedrock",
  endpoints: ["/v1/chat/completions", "/v1/embeddings", MESSAGES, INVOKE, CONVERSE],
  nativeEndpoints: [MESSAGES, INVOKE, CONVERSE],
  maxInlineBytes: 0,
  /**
   * "If this token matches a previous request, Amazon Bedrock ignores the request"
   * (CreateModelInvocationJobRequest).
   */
  tag: "idempotencyToken",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: true,
  ledgerScope: "model",
  limits: {
    /** Records of one input file; a job of ours has one. */
    maxRequests: 50_000,
    /** 1 GB of one input file. */
    maxBytes: 1_000_000_000,
    maxTokens: Number.POSITIVE_INFINITY,
    minRequests: 100,
    maxEnqueuedTokens: Number.POSITIVE_INFINITY,
    maxEnqueuedRequests: Number.POSITIVE_INFINITY,
    /** In progress and submitted, of one model: 10 for the common ones, up to 100. */
    maxEnqueuedBatches: 10,
  },
};
