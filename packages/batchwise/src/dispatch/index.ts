// The public API of "batchwise/dispatch": names only.

export type { Clock } from "../core/time/clock.ts";
export { batchFetch } from "./batch-fetch.ts";
export type {
  Account,
  AccountOptions,
  BatchInput,
  BatchName,
  CallOptions,
  Capabilities,
  CleanupInput,
  CreateInput,
  Failure,
  LineFault,
  LineRequest,
  ListPage,
  Operation,
  ProviderBatch,
  ProviderLimits,
  ProviderState,
  ResultLine,
} from "./contract/account.ts";
export type { CachedPrefix } from "./contract/cached-prefix.ts";
export type { CheckedRequest, OutputCheck, OutputSchema, SchemaIssue, SchemaResult } from "./contract/checks.ts";
export type {
  Estimate,
  EstimatedPrice,
  EstimateSums,
  ModelEstimate,
  ModelPrice,
  PricedTokens,
  PriceTable,
} from "./contract/cost.ts";
export type { Dispatcher } from "./contract/dispatcher.ts";
export {
  DispatchError,
  type DispatchErrorCode,
  objectNotFoundError,
  type PriceFigures,
  PriceLimitError,
  QuarantinedError,
} from "./contract/errors.ts";
export type {
  AdoptEvent,
  BatchEvent,
  BatchesEvent,
  BatchesInState,
  ClockStepEvent,
  CollectEvent,
  DeliveryEvent,
  DispatcherEventName,
  DispatcherEvents,
  DispatcherListener,
  EndedBatch,
  EnqueueEvent,
  LaneAge,
  LanesEvent,
  LeaseLostEvent,
  LoopsEvent,
  OfBatch,
  PauseEvent,
  PollEvent,
  PruneEvent,
  QuarantineEvent,
  SealEvent,
  SetBackEvent,
  SplitEvent,
  SubmitEvent,
  SweepEvent,
  UsageEvent,
} from "./contract/events.ts";
export type {
  JobOutcome,
  JobPause,
  JobProgress,
  JobRequest,
  JobRequestId,
  JobRequestMetadata,
  OnChange,
} from "./contract/jobs.ts";
export type {
  CancelCounts,
  CancelFilter,
  DueReport,
  OperatorMethods,
  PollFilter,
  RequestFilter,
  RequestPage,
  RequestRecord,
  RequestStatus,
  RequestsOptions,
  RequestTry,
  RetryFilter,
  RetryRequestsOptions,
  RunDueOptions,
  StoredRequest,
  UsageFilter,
  UsageRecord,
} from "./contract/operations.ts";
export type {
  DeliveryLogRow,
  DeliveryReport,
  DeliveryRow,
  DeliveryState,
  OutcomeQuery,
  OutcomeRow,
  Settlement,
} from "./contract/outcome-rows.ts";
export type { PayerChange, PayerRow } from "./contract/payers.ts";
export type { PruneInput, PruneStep } from "./contract/pruning.ts";
export type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  Ended,
  FindQuery,
  FindResult,
  HistoryRow,
  LaneRow,
  LedgerChanges,
  LedgerLimits,
  LedgerRow,
  MarkChange,
  MarkRow,
  NewRequest,
  Probe,
  RequestMatch,
  RequestQuery,
  RequestRow,
  TokenCounts,
  UsageQuery,
  UsageRow,
} from "./contract/rows.ts";
export type { ObjectStorage, StoredObject } from "./contract/storage.ts";
export type {
  Amended,
  Amendment,
  DeliveriesInput,
  LeaseInput,
  SealInput,
  SealResult,
  SettleInput,
  SettleResult,
  Store,
  TransitionResult,
} from "./contract/store.ts";
export type { TagKind } from "./contract/tag-kind.ts";
export type { TransactionalStore, TransactionIntake, WithinTransaction } from "./contract/transactions.ts";
export type {
  BatchFilter,
  BatchLine,
  BatchRecord,
  BatchState,
  CancelResult,
  DeadLetter,
  DeadLettersOptions,
  DeliverySink,
  DispatcherStats,
  DispatchRequest,
  Endpoint,
  Enqueued,
  EnqueuedMany,
  Json,
  JsonObject,
  KnownEndpoint,
  LaneRef,
  LaneStats,
  LedgerStats,
  LoggedOutcome,
  Orphan,
  Outcome,
  OutcomeError,
  OutcomeResponse,
  OutcomeStatus,
  OutcomesOptions,
  PausedRecord,
  PauseRecord,
  PruneOptions,
  PruneResult,
  RedeliverOptions,
  Thresholds,
  Usage,
} from "./contract/types.ts";
export { defaultPrices } from "./decide/price/default-prices.ts";
export { priceOf } from "./decide/price/price.ts";
export { createDispatcher } from "./dispatcher.ts";
export { type AccountFault, checkAccount } from "./ops/check-account.ts";
export { type JobDefaults, keepJobDefaults } from "./ops/job-defaults.ts";
export { type PriceLimit, type PriceLimitsQuery, readPriceLimits } from "./ops/read-price-limits.ts";
export {
  lineOf,
  type ReadRequestsOptions,
  readRequests,
  type TextSource,
  type WebReadable,
} from "./ops/read-requests.ts";
export {
  type NodeWritable,
  type WebWritable,
  type WriteOutcomesOptions,
  writeOutcomes,
} from "./ops/write-outcomes.ts";
export type { BatchedCall, BatchFetchOptions, PendingCall } from "./options/batch-fetch-options.ts";
export type {
  DispatcherOptions,
  ErrorContext,
  MaxPrice,
  RetryOptions,
  WebhookOptions,
} from "./options/dispatcher-options.ts";
export type { ProviderWebhookOptions, SigningKey } from "./options/provider-webhook-options.ts";
export type { RunBatchOptions } from "./options/run-batch-options.ts";
export { providerWebhook } from "./provider-webhook.ts";
export { runBatch } from "./run-batch.ts";
export { memoryStore } from "./stores/memory/memory-store.ts";
