// The public API of "batchwise/dispatch": names only.

export type { Clock } from "../core/time/clock.ts";
export { type AccountFault, checkAccount } from "./accounts/check-account.ts";
export { batchFetch } from "./batch-fetch.ts";
export type {
  Account,
  AccountOptions,
  BatchInput,
  BatchName,
  CallOptions,
  CleanupInput,
  CreateInput,
  LineRequest,
  ListPage,
  ProviderBatch,
  ProviderState,
  ResultLine,
} from "./contract/account.ts";
export type { CachedPrefix } from "./contract/cached-prefix.ts";
export type {
  Capabilities,
  ProviderLimits,
} from "./contract/capabilities.ts";
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
export type {
  DispatcherOptions,
  ErrorContext,
  MaxPrice,
  RetryOptions,
  WebhookOptions,
} from "./contract/dispatcher-options.ts";
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
  Failure,
  LineFault,
  Operation,
} from "./contract/failures.ts";
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
  TransitionResult,
} from "./contract/store/calls.ts";
export type {
  LedgerChanges,
  LedgerLimits,
  LedgerRow,
  MarkChange,
  MarkRow,
} from "./contract/store/ledger-rows.ts";
export type {
  DeliveryLogRow,
  DeliveryReport,
  DeliveryRow,
  DeliveryState,
  OutcomeQuery,
  OutcomeRow,
  Settlement,
} from "./contract/store/outcome-rows.ts";
export type { PayerChange, PayerRow } from "./contract/store/payers.ts";
export type {
  LaneRow,
  Probe,
} from "./contract/store/probe.ts";
export type { PruneInput, PruneStep } from "./contract/store/pruning.ts";
export type {
  BatchChanges,
  BatchQuery,
  BatchRow,
  Ended,
  FindQuery,
  FindResult,
  HistoryRow,
  NewRequest,
  RequestMatch,
  RequestQuery,
  RequestRow,
  TokenCounts,
  UsageQuery,
  UsageRow,
} from "./contract/store/rows.ts";
export type { Store } from "./contract/store/store.ts";
export type { TransactionalStore, TransactionIntake, WithinTransaction } from "./contract/store/transactions.ts";
export type { TagKind } from "./contract/tag-kind.ts";
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
export { createDispatcher } from "./dispatcher.ts";
export type { BatchedCall, BatchFetchOptions, PendingCall } from "./doors/fetch/batch-fetch-options.ts";
export type { ProviderWebhookOptions, SigningKey } from "./doors/webhook/provider-webhook-options.ts";
export { type JobDefaults, keepJobDefaults } from "./jobs/job-defaults.ts";
export type { RunBatchOptions } from "./jobs/run-batch-options.ts";
export { defaultPrices } from "./prices/default-prices.ts";
export { priceOf } from "./prices/price.ts";
export { type PriceLimit, type PriceLimitsQuery, readPriceLimits } from "./prices/read-price-limits.ts";
export { providerWebhook } from "./provider-webhook.ts";
export {
  lineOf,
  type ReadRequestsOptions,
  readRequests,
  type TextSource,
  type WebReadable,
} from "./requests/files/read-requests.ts";
export {
  type NodeWritable,
  type WebWritable,
  type WriteOutcomesOptions,
  writeOutcomes,
} from "./requests/files/write-outcomes.ts";
export { runBatch } from "./run-batch.ts";
export { memoryStore } from "./stores/memory/memory-store.ts";
