// The library's list prices, for prompts of normal length: batch models of OpenAI and Anthropic,
// and the models in `cloud-prices.ts`. Prices change, and some models charge more for long prompts:
// replace the table with the option `prices`. Pure.

import type { PriceTable } from "../contract/cost.ts";
import { cloudPrices } from "./cloud-prices.ts";

/**
 * As of 22 November 2026, as other sites quote
 * - https://developers.openai.com/api/docs/pricing (standard price; prompts up to 272,000 tokens)
 * - https://platform.claude.com/docs/en/about-claude/pricing (Haiku 5.5: prompts up to 100,000
 *   tokens)
 *
 * A batch costs half at both. Gemini, Bedrock and Mistral as of July and October 2026, in
 * `cloud-prices.ts`. Not compared with a bill: give `prices` if exact costs matter.
 */
export const defaultPrices: PriceTable = Object.freeze({
  "gpt-6-astra": { input: 10, cachedInput: 1, output: 50 },
  "gpt-6.1-sol": { input: 2, cachedInput: 0.1, output: 10 },
  "gpt-6.1-terra": { input: 1, cachedInput: 0.05, output: 5 },
  "gpt-6-sol": { input: 2, cachedInput: 0.2, output: 10 },
  "gpt-6-luna": { input: 0.1, cachedInput: 0.01, output: 0.5 },
  "gpt-5.6-sol": { input: 4, cachedInput: 0.4, output: 20 },
  "gpt-5.6-terra": { input: 2, cachedInput: 0.2, output: 12 },
  "gpt-5.6-luna": { input: 0.2, cachedInput: 0.02, output: 1.2 },
  "gpt-5.5": { input: 5, cachedInput: 0.5, output: 30 },
  "gpt-5.4": { input: 2.5, cachedInput: 0.25, output: 15 },
  "gpt-5.4-mini": { input: 0.75, cachedInput: 0.075, output: 4.5 },
  "gpt-5.4-nano": { input: 0.2, cachedInput: 0.02, output: 1.25 },
  "gpt-5.2": { input: 1.75, cachedInput: 0.175, output: 14 },
  "gpt-5.1": { input: 1.25, cachedInput: 0.125, output: 10 },
  "gpt-5": { input: 1.25, cachedInput: 0.125, output: 10 },
  "gpt-5-mini": { input: 0.25, cachedInput: 0.025, output: 2 },
  "gpt-5-nano": { input: 0.05, cachedInput: 0.005, output: 0.4 },
  "gpt-4.1": { input: 2, cachedInput: 0.5, output: 8 },
  "gpt-4.1-mini": { input: 0.4, cachedInput: 0.1, output: 1.6 },
  "gpt-4.1-nano": { input: 0.1, cachedInput: 0.025, output: 0.4 },
  "gpt-4o": { input: 2.5, cachedInput: 1.25, output: 10 },
  "gpt-4o-2024-05-13": { input: 5, output: 15 },
  "gpt-4o-mini": { input: 0.15, cachedInput: 0.075, output: 0.6 },
  o3: { input: 2, cachedInput: 0.5, output: 8 },
  "o3-mini": { input: 1.1, cachedInput: 0.55, output: 4.4 },
  "o4-mini": { input: 1.1, cachedInput: 0.275, output: 4.4 },
  "text-embedding-3-small": { input: 0.02, output: 0 },
  "text-embedding-3-large": { input: 0.13, output: 0 },
  "text-embedding-ada-002": { input: 0.1, output: 0 },
  "claude-fable-5-1": { input: 10, cachedInput: 0.25, output: 50 },
  "claude-fable-5": { input: 10, cachedInput: 1, output: 50 },
  "claude-opus-5-5": { input: 4, cachedInput: 0.2, output: 20 },
  "claude-opus-5": { input: 5, cachedInput: 0.5, output: 25 },
  "claude-opus-4-8": { input: 5, cachedInput: 0.5, output: 25 },
  "claude-opus-4-7": { input: 5, cachedInput: 0.5, output: 25 },
  "claude-opus-4-6": { input: 5, cachedInput: 0.5, output: 25 },
  "claude-opus-4-5": { input: 5, cachedInput: 0.5, output: 25 },
  "claude-sonnet-5-5": { input: 2, cachedInput: 0.1, output: 10 },
  "claude-sonnet-5": { input: 2, cachedInput: 0.2, output: 10 },
  "claude-sonnet-4-6": { input: 3, cachedInput: 0.3, output: 15 },
  "claude-sonnet-4-5": { input: 3, cachedInput: 0.3, output: 15 },
  "claude-haiku-5-5": { input: 0.1, cachedInput: 0.01, output: 0.5 },
  "claude-haiku-4-5": { input: 1, cachedInput: 0.1, output: 5 },
  ...cloudPrices,
});
