// List prices of batch models at Google, Amazon and Mistral, as far as they have a source. Models
// without a price here: names that move between models (`mistral-small-latest`), and models without
// a listed batch price. Pure.

import type { ModelPrice, PriceTable } from "../contract/cost.ts";

/**
 * The Gemini API and Vertex AI have equal prices. For text, and for prompts up to 200,000 tokens.
 * - https://ai.google.dev/gemini-api/docs/pricing, as quoted on 7 October 2026 (3.5 Flash, 3.1 Pro,
 *   and input of 2.5)
 * - the same page and https://cloud.google.com/vertex-ai/generative-ai/pricing, as models.dev
 *   quotes them on 2 July 2026
 *
 * A batch costs half. Cached input has its own discount instead, so it is doubled here, and a batch
 * comes to the listed price.
 */
const GOOGLE: PriceTable = {
  "gemini-3.5-flash": { input: 1.5, cachedInput: 0.3, output: 9 },
  "gemini-3.1-pro-preview": { input: 2, cachedInput: 0.4, output: 12 },
  "gemini-3.1-flash-lite": { input: 0.25, cachedInput: 0.05, output: 1.5 },
  "gemini-3-flash-preview": { input: 0.5, cachedInput: 0.1, output: 3 },
  "gemini-2.5-pro": { input: 1.25, cachedInput: 0.25, output: 10 },
  "gemini-2.5-flash": { input: 0.3, cachedInput: 0.06, output: 2.5 },
  "gemini-2.5-flash-lite": { input: 0.1, cachedInput: 0.02, output: 0.4 },
  "gemini-embedding-001": { input: 0.15, output: 0 },
};

/**
 * Bedrock in us-east-1, as models.dev quotes https://aws.amazon.com/bedrock/pricing on 2 July 2026.
 * By that page, batches cost half. They read no cache. Claude only by global inference profiles:
 * others cost more.
 */
const BEDROCK: PriceTable = {
  ...alsoInUs("amazon.nova-micro-v1:0", { input: 0.035, output: 0.14 }),
  ...alsoInUs("amazon.nova-lite-v1:0", { input: 0.06, output: 0.24 }),
  ...alsoInUs("amazon.nova-pro-v1:0", { input: 0.8, output: 3.2 }),
  ...alsoInUs("meta.llama3-1-8b-instruct-v1:0", { input: 0.22, output: 0.22 }),
  ...alsoInUs("meta.llama3-1-70b-instruct-v1:0", { input: 0.72, output: 0.72 }),
  ...alsoInUs("meta.llama3-3-70b-instruct-v1:0", { input: 0.72, output: 0.72 }),
  ...alsoInUs("meta.llama4-scout-17b-instruct-v1:0", { input: 0.17, output: 0.66 }),
  ...alsoInUs("meta.llama4-maverick-17b-instruct-v1:0", { input: 0.24, output: 0.97 }),
  "global.anthropic.claude-haiku-4-5-20251001-v1:0": { input: 1, output: 5 },
  "global.anthropic.claude-sonnet-4-5-20250929-v1:0": { input: 3, output: 15 },
  "global.anthropic.claude-sonnet-4-6": { input: 3, output: 15 },
  "global.anthropic.claude-opus-4-5-20251101-v1:0": { input: 5, output: 25 },
  "global.anthropic.claude-opus-4-6-v1": { input: 5, output: 25 },
};

/** An inference profile of the United States costs the same as its model in the calling region. */
function alsoInUs(model: string, price: ModelPrice): PriceTable {
  return { [model]: price, [`us.${model}`]: price };
}

/**
 * https://mistral.ai/pricing, as models.dev quotes it on 2 July 2026. By that page, a batch costs
 * half.
 */
const MISTRAL: PriceTable = {
  "mistral-large-2512": { input: 0.5, output: 1.5 },
  "mistral-large-2411": { input: 2, output: 6 },
  "mistral-medium-2604": { input: 1.5, output: 7.5 },
  "mistral-medium-2508": { input: 0.4, output: 2 },
  "mistral-medium-2505": { input: 0.4, output: 2 },
  "mistral-small-2603": { input: 0.15, output: 0.6 },
  "mistral-small-2506": { input: 0.1, output: 0.3 },
  "open-mistral-nemo": { input: 0.15, output: 0.15 },
  "mistral-embed": { input: 0.1, output: 0 },
};

export const cloudPrices: PriceTable = { ...GOOGLE, ...BEDROCK, ...MISTRAL };
