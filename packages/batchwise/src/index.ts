// The public API of "batchwise": names only.

export { batch, createBatcher } from "./core/batch.ts";
export type { Measure } from "./core/batch-cost.ts";
export { batched } from "./core/batched.ts";
export type { Clock } from "./core/clock.ts";
export { BatchwiseError, type BatchwiseErrorCode, type BatchwiseErrorInit } from "./core/errors.ts";
export type {
  BatchEvent,
  BatcherEvents,
  EventName,
  ItemEvent,
  Listener,
  WarningCode,
  WarningEvent,
} from "./core/events.ts";
export type { Quantiles } from "./core/histogram.ts";
export type {
  BatchCache,
  BatchOptions,
  ConfigureOptions,
  OnFull,
  ResolvedOptions,
  ResolvedRetry,
  RetryOptions,
} from "./core/options.ts";
export type { BatchReason, ItemOutcome } from "./core/outcome.ts";
export type { BatcherStats } from "./core/stats.ts";
export { createTokenBatcher, type TokenBatcherOptions } from "./core/token-batcher.ts";
export { estimateTokens } from "./core/tokens.ts";
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
} from "./core/types.ts";
export {
  batchStream,
  type Round,
  type StreamBatcher,
  type StreamFunction,
  type StreamHandler,
  type StreamOptions,
} from "./stream/batch-stream.ts";
export { DONE, SKIP } from "./stream/marks.ts";
