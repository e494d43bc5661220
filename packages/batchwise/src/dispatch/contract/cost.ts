// What requests will cost, and have cost: the words of `estimate`, of `prices` and of `priceOf`.
// Types only.

import type { Endpoint, Usage } from "./types.ts";

/** A model's list price, in US dollars for a million tokens, without the discount for batches. */
export interface ModelPrice {
  readonly input: number;
  /** Input that was read from a prompt cache. Default: as `input`. */
  readonly cachedInput?: number;
  /** 0 for models that only read, as for embeddings. */
  readonly output: number;
  /** What a batch saves of all of it: 0.5 for half. Default 0.5. */
  readonly batchDiscount?: number;
}

/** Prices by model, as requests name it (a deployment's name at Azure). */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** What `priceOf` needs of a usage: of one outcome, or sums over many of one model. */
export type PricedTokens = Pick<Usage, "inputTokens" | "cachedTokens" | "outputTokens">;

/**
 * What requests would take, told before any of them is sent. All figures are sums over the requests
 * that were given.
 */
export interface EstimateSums {
  readonly requests: number;
  /** Estimated prompt tokens, counted as for thresholds and limits. */
  readonly tokens: number;
  /** Of the encoded lines, as the longest of the accounts that serve them writes them. */
  readonly bytes: number;
  /**
   * Batches that these requests fill when they go together, now. What waits already is not counted,
   * nor are retries.
   */
  readonly batches: number;
  /**
   * Most output tokens that the requests allow (`max_completion_tokens`, `max_tokens` or
   * `max_output_tokens`, times `n`); null where one sets no limit.
   */
  readonly mostOutputTokens: number | null;
  /** At the price of batches, nothing cached; null where a model has no price. */
  readonly price: EstimatedPrice | null;
}

/** US dollars. */
export interface EstimatedPrice {
  /** For the prompts alone. */
  readonly input: number;
  /**
   * For these and all of `mostOutputTokens`; null where that is. What one try of each request costs
   * at most.
   */
  readonly most: number | null;
}

/** The requests of one endpoint and model. */
export interface ModelEstimate extends EstimateSums {
  readonly endpoint: Endpoint;
  readonly model: string;
}

/** What requests would take, before any of them is sent. */
export interface Estimate extends EstimateSums {
  /** The same by endpoint and model, in the order in which they first came. */
  readonly models: readonly ModelEstimate[];
  /** Models without a price. */
  readonly unknownModels: readonly string[];
}
