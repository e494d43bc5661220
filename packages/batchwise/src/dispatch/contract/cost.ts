// Types of `estimate`, `prices` and `priceOf`: estimated and actual costs.

import type { Endpoint, Usage } from "./types.ts";

/** A model's list price in US dollars per million tokens, without the batch discount. */
export interface ModelPrice {
  readonly input: number;
  /** Input read from a prompt cache. Default: as `input`. */
  readonly cachedInput?: number;
  /** 0 for models without output tokens, such as embeddings. */
  readonly output: number;
  /** Share that a batch saves of all prices: 0.5 for half. Default 0.5. */
  readonly batchDiscount?: number;
}

/** Prices by model, as requests name it (at Azure, the deployment's name). */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** The token counts that `priceOf` needs: of one outcome, or sums over outcomes of one model. */
export type PricedTokens = Pick<Usage, "inputTokens" | "cachedTokens" | "outputTokens">;

/** Estimates of requests before any is sent. All figures are sums over the given requests. */
export interface EstimateSums {
  readonly requests: number;
  /** Estimated prompt tokens, counted as for thresholds and limits. */
  readonly tokens: number;
  /** Bytes of the encoded lines, by the serving account with the longest ones. */
  readonly bytes: number;
  /**
   * Batches that these requests fill if they are sent together, now. Excludes waiting requests and
   * retries.
   */
  readonly batches: number;
  /**
   * Maximum output tokens that the requests allow (`max_completion_tokens`, `max_tokens` or
   * `max_output_tokens`, times `n`); null if one sets no limit.
   */
  readonly mostOutputTokens: number | null;
  /** The batch price with nothing cached; null if a model has no price. */
  readonly price: EstimatedPrice | null;
}

/** In US dollars. */
export interface EstimatedPrice {
  /** For prompts only. */
  readonly input: number;
  /**
   * For prompts and all of `mostOutputTokens`, which is the maximum cost of one try of each
   * request; null if that is null.
   */
  readonly most: number | null;
}

/** The requests of one endpoint and model. */
export interface ModelEstimate extends EstimateSums {
  readonly endpoint: Endpoint;
  readonly model: string;
}

/** Estimates of requests before any is sent. */
export interface Estimate extends EstimateSums {
  /** The same by endpoint and model, in order of first occurrence. */
  readonly models: readonly ModelEstimate[];
  /** Models without a price. */
  readonly unknownModels: readonly string[];
}
