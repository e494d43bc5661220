// The OpenAI-shaped services as records: what differs between them is data, not code. Figures are the documented
// defaults; every one can be overridden with `limits` or a record of the user's own.

import type { Capabilities, ProviderLimits } from "../../contract/account.ts";
import type { Endpoint } from "../../contract/types.ts";

/** An OpenAI-shaped service. Start from one of `openaiServices` and change what differs. */
export interface OpenAiService {
  readonly capabilities: Capabilities;
  /** `purpose` of an uploaded input file. */
  readonly filePurpose: string;
  readonly completionWindow: string;
  /** Most inputs of one embeddings request. */
  readonly maxInputs: number;
  /**
   * How endpoints are written in lines and creates, where the service writes them another way: Azure's older samples
   * have "/chat/completions" for "/v1/chat/completions". Default: as the endpoint.
   */
  readonly urls?: Readonly<Record<string, string>>;
}

/** A service of OpenAI's shape that has a record here. */
export type OpenAiServiceName = "openai" | "azure" | "groq" | "together";

const LIMITS: ProviderLimits = {
  maxRequests: 50_000,
  maxBytes: 200_000_000,
  maxTokens: Number.POSITIVE_INFINITY,
  minRequests: 1,
  maxEnqueuedTokens: Number.POSITIVE_INFINITY,
  maxEnqueuedRequests: Number.POSITIVE_INFINITY,
  maxEnqueuedBatches: Number.POSITIVE_INFINITY,
};

/** "Any array must be 2048 dimensions or less", in the words of the client's types. */
const MAX_INPUTS = 2_048;

const CHAT: readonly Endpoint[] = ["/v1/chat/completions"];

const openai: Capabilities = {
  provider: "openai",
  endpoints: ["/v1/chat/completions", "/v1/embeddings"],
  maxInlineBytes: 0,
  tag: "metadata",
  list: { paged: true, pageSize: 100, newestFirst: true },
  listsFiles: true,
  ledgerScope: "model",
  limits: { ...LIMITS, maxCreatesPerHour: 2_000, maxInputs: 50_000 },
};

const unpaged = { paged: false, pageSize: 100, newestFirst: false };

/** The enqueued limits of OpenAI depend on the organisation's tier: they are learned from refusals unless given. */
export const openaiServices: Readonly<Record<OpenAiServiceName, OpenAiService>> = {
  openai: { capabilities: openai, filePurpose: "batch", completionWindow: "24h", maxInputs: MAX_INPUTS },
  azure: {
    capabilities: { ...openai, provider: "azure", limits: { ...LIMITS, maxRequests: 100_000 } },
    filePurpose: "batch",
    completionWindow: "24h",
    maxInputs: MAX_INPUTS,
  },
  groq: {
    capabilities: {
      ...openai,
      provider: "groq",
      endpoints: CHAT,
      list: unpaged,
      limits: { ...LIMITS, maxBytes: 100_000_000 },
    },
    filePurpose: "batch",
    completionWindow: "24h",
    maxInputs: MAX_INPUTS,
  },
  /** No metadata comes back: a batch is found again by the file that only it was made from. */
  together: {
    capabilities: {
      ...openai,
      provider: "together",
      endpoints: CHAT,
      tag: "inputFile",
      list: unpaged,
      limits: { ...LIMITS, maxBytes: 100_000_000, maxEnqueuedTokens: 30_000_000_000 },
    },
    filePurpose: "batch-api",
    completionWindow: "24h",
    maxInputs: MAX_INPUTS,
  },
};
