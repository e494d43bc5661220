// Bedrock's capabilities. Limits are the defaults of the Bedrock user guide, "Quotas for Amazon
// Bedrock". They differ by model and region; `limits` overrides each.

import type { Capabilities } from "../../contract/capabilities.ts";
import { UNLIMITED } from "../shapes/unlimited.ts";

/** Endpoints with bodies in the model's own format: InvokeModel and Converse. */
export const INVOKE = "/model/invoke";
export const CONVERSE = "/model/converse";
/** Claude's own format. */
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
    ...UNLIMITED,
    /** Records of one input file. Our jobs have one file. */
    maxRequests: 50_000,
    /** 1 GB of one input file. */
    maxBytes: 1_000_000_000,
    minRequests: 100,
    /** Jobs of one model that are submitted or in progress: 10 for common models, up to 100. */
    maxEnqueuedBatches: 10,
  },
};
