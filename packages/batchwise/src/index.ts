// The public API of "batchwise": names only.

export { batch, createBatcher } from "./core/api/batch.ts";
export { batched } from "./core/api/batched.ts";
export { estimateTokens } from "./core/api/estimate-tokens.ts";
export { createTokenBatcher, type TokenBatcherOptions } from "./core/api/token-batcher.ts";
export { BatchwiseError, type BatchwiseErrorCode, type BatchwiseErrorInit } from "./core/contract/errors.ts";
export type {
  BatchEvent,
  BatcherEvents,
  EventName,
  ItemEvent,
  Listener,
  WarningCode,
  WarningEvent,
} from "./core/contract/events.ts";
export type { LimiterAnswer, LimiterClient, RateLimiter } from "./core/contract/limiter.ts";
export type {
  BatchCache,
  BatchOptions,
  ConfigureOptions,
  OnFull,
  ResolvedOptions,
  ResolvedRetry,
  RetryOptions,
} from "./core/contract/options.ts";
export type { BatchReason, ItemOutcome } from "./core/contract/outcome.ts";
export type {
  BatchContext,
  Batcher,
  BatcherControls,
  BatchFunction,
  BatchRequest,
  CloseOptions,
  Handler,
  HandlerFunction,
  HandlerObject,
  NumericArray,
  NumericHandlerFunction,
  Place,
  Places,
  PlainHandlerObject,
  RunningBatch,
  SubmitOptions,
} from "./core/contract/types.ts";
export type { Measure } from "./core/policy/batch-cost.ts";
export type { Quantiles } from "./core/stats/histogram.ts";
export type { BatcherStats } from "./core/stats/recorder.ts";
export type { Clock } from "./core/time/clock.ts";
export type { RateLimiterOptions } from "./limits/options.ts";
export { rateLimiter } from "./limits/rate-limiter.ts";
export {
  batchStream,
  type Round,
  type StreamBatcher,
  type StreamFunction,
  type StreamHandler,
  type StreamOptions,
} from "./stream/batch-stream.ts";
export { DONE, SKIP } from "./stream/marks.ts";
