// The public API of "batchwise": names only.

export { BatchwiseError, type BatchwiseErrorCode, type BatchwiseErrorInit } from "./core/contract/errors.ts";
export type {
  BatchEvent,
  BatcherEvents,
  EventName,
  ItemEvent,
  Listener,
  RunningBatch,
  WarningCode,
  WarningEvent,
} from "./core/contract/events.ts";
export type { HandlerDefaults } from "./core/contract/handler-defaults.ts";
export type { LimiterAnswer, LimiterClient, RateLimiter } from "./core/contract/limiter.ts";
export type { Mapped, MapSource, MapWindow } from "./core/contract/map-options.ts";
export type {
  BatchCache,
  BatchOptions,
  ConfigureOptions,
  Gather,
  Measure,
  OnFull,
  ResolvedRetry,
  RetryOptions,
  ShownOptions as ResolvedOptions,
} from "./core/contract/options.ts";
export type { BatchReason, ItemOutcome } from "./core/contract/outcome.ts";
export type { BatcherStats, LearnedStats, Quantiles, TargetStats } from "./core/contract/stats.ts";
export type {
  BatchContext,
  BatchedCall,
  Batcher,
  BatcherControls,
  BatchFunction,
  BatchRequest,
  CloseOptions,
  Handler,
  HandlerFunction,
  HandlerObject,
  LaneOptions,
  MapOptions,
  NumericArray,
  NumericHandlerFunction,
  Place,
  Places,
  PlainHandlerObject,
  SubmitManyOptions,
  SubmitOptions,
} from "./core/contract/types.ts";
export type { Clock } from "./core/time/clock.ts";
export { type BatchedDecorator, batched } from "./decorators/batched.ts";
export { type BatcherOfMethod, batcherOf } from "./decorators/batcher-of.ts";
export type { RateLimiterOptions } from "./limits/options.ts";
export { rateLimiter } from "./limits/rate-limiter.ts";
export { batch, createBatcher } from "./makers/batch.ts";
export type { BatcherMaker } from "./makers/batcher-maker.ts";
export {
  batchStream,
  type Round,
  type StreamBatcher,
  type StreamFunction,
  type StreamHandler,
  type StreamOptions,
} from "./stream/batch-stream.ts";
export { DONE, SKIP } from "./stream/marks.ts";
export { estimateTokens } from "./tokens/estimate-tokens.ts";
export { createTokenBatcher } from "./tokens/token-batcher.ts";
export type {
  ResolvedTokenOptions,
  TokenBatcher,
  TokenBatcherOptions,
  TokenConfigureOptions,
  TokenMapOptions,
  TokenSubmitManyOptions,
  TokenSubmitOptions,
} from "./tokens/token-options.ts";
