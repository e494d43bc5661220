// Events of a dispatcher for `on`: values that an operator would graph. Types, and their names.
//
// `lanes` and `batches` describe the whole store, and every process with a listener emits the same
// values: use the latest. All other events describe this process: add them up over processes. No
// event is repeated on purpose. An event may be lost in a crash, so exact sums are in `stats()` and
// `usage()`. Times are ms since 1970 (`...At`) or durations in ms (`...Ms`).

import type { TokenCounts } from "./store/rows.ts";
import type {
  BatchRecord,
  BatchState,
  DeliverySink,
  Endpoint,
  LaneStats,
  OutcomeStatus,
  PruneResult,
  Usage,
} from "./types.ts";

/** The subject of most events. */
export interface OfBatch {
  readonly account: string;
  /** The batch's key. */
  readonly batch: string;
}

/** The loops of this process have started (`start`) or ended (`stop`). Emitted once each. */
export interface LoopsEvent {
  readonly running: boolean;
}

/** Wait of the oldest request of a lane. */
export interface LaneAge extends LaneStats {
  /** Wait of its oldest request; null if all wait for a retry. */
  readonly oldestMs: number | null;
}

/** Emitted by the loop that closes batches: at most every second, at least every 30 s. */
export interface LanesEvent {
  /** One entry per endpoint and model with waiting requests. */
  readonly lanes: readonly LaneAge[];
}

/** Number of batches in a state, and the age of the oldest. */
export interface BatchesInState {
  readonly state: BatchState;
  readonly count: number;
  /** Time since the oldest of them was formed. */
  readonly oldestMs: number;
}

/** Emitted by the same loop, at most every 10 s. */
export interface BatchesEvent {
  /** One entry per state with batches, except `done`. */
  readonly states: readonly BatchesInState[];
}

/**
 * A call of `enqueue`, or a part of `enqueueMany`, is stored. Single requests of one commit are one
 * event. Not emitted for `enqueueIn` of the Postgres store, whose transaction may roll back.
 */
export interface EnqueueEvent {
  readonly stored: number;
  /** Requests with a known id and body. */
  readonly existing: number;
  /** Requests refused because another body has their id. */
  readonly conflicts: number;
}

/** A batch is formed. */
export interface SealEvent extends OfBatch {
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  /** Wait of the oldest request of its lane. */
  readonly oldestMs: number;
}

/**
 * An upload or create has ended. `unknown`: the provider may have it; it is searched for before
 * anything is sent again.
 */
export interface SubmitEvent extends OfBatch {
  readonly requests: number;
  readonly bytes: number;
  /** 1 for the first intent to send the batch, one more for each later one. */
  readonly attempt: number;
  readonly result: "accepted" | "refused" | "unknown";
  /** The provider's or client's code of a refusal; null for `accepted`. */
  readonly code: string | null;
  readonly durationMs: number;
}

/** A create with an unknown result was found at the provider. */
export interface AdoptEvent extends OfBatch {
  readonly providerBatchId: string;
  /** False if the provider has no tags: its results will show whether it is ours. */
  readonly verified: boolean;
  /** Duplicates, also of earlier attempts, that were cancelled, or had ended. */
  readonly duplicates: number;
}

/** A batch was polled. One list call of the provider may show many. */
export interface PollEvent extends OfBatch {
  /** `gone`: the provider does not know it. `failed`: no answer, see `code`. */
  readonly result: "seen" | "gone" | "failed";
  /** The provider's own name; null if it was not seen. */
  readonly providerState: string | null;
  /** The provider's request counts; null if there are none yet. */
  readonly counts: { readonly total: number; readonly succeeded: number; readonly failed: number } | null;
  /** Tokens of the batch so far, if the provider sums them; else null. */
  readonly usage: Usage | null;
  readonly code: string | null;
  /** True if a list call showed it, false for a call with its id. */
  readonly listed: boolean;
  /** Time since it was sent. */
  readonly ageMs: number;
}

/** The results of a batch were read, to their end or to an error. */
export interface CollectEvent extends OfBatch {
  /** Number of lines, whether or not they changed anything. */
  readonly lines: number;
  readonly durationMs: number;
  /** Why reading stopped early; null at the end. */
  readonly code: string | null;
}

/** Requests of one tenant and job ended in a batch. */
export interface UsageEvent extends OfBatch, TokenCounts {
  readonly endpoint: Endpoint;
  readonly model: string;
  /** "" for none. */
  readonly tenant: string;
  readonly job: string;
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /** In US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** A batch has ended: each of its requests has an outcome, or is back in a lane. */
export interface BatchEvent {
  readonly batch: BatchRecord;
  /** Time since it was formed. */
  readonly ageMs: number;
}

/** The argument of `onBatch`: the ended batch with the sums of its requests. */
export interface EndedBatch extends BatchRecord, TokenCounts {
  /** Requests that ended in it, by status, without those retried by hand meanwhile. */
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /** Requests that went back to a lane for a retry. */
  readonly requeued: number;
  /** In US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** An operation on a batch had to stop. Another process continues, or this one later. */
export interface LeaseLostEvent extends OfBatch {
  /**
   * `taken`: another process has it. `store`: the store did not answer for too long. `set_back`:
   * see `setBack`.
   */
  readonly reason: "taken" | "store" | "set_back";
}

/** A batch was quarantined: an operator must decide. */
export interface QuarantineEvent extends OfBatch {
  readonly code: string;
  readonly message: string;
  /** Requests in it without an outcome. */
  readonly requests: number;
}

/**
 * A refused batch returned to its lane in two parts: halves, or one request (the canary) and the
 * rest.
 */
export interface SplitEvent extends OfBatch {
  readonly kind: "halves" | "canary";
  readonly requests: number;
  /** The provider's code of the refusal. */
  readonly code: string;
}

/** Sending on a ledger pauses: the account is refused or has no credit, or its limit is reached. */
export interface PauseEvent extends OfBatch {
  /** The account's name, or `<account>/<model>` for a limit of that model. */
  readonly ledger: string;
  /** Its end, or an earlier time where another pause that is still in force ends later. */
  readonly until: number;
  readonly code: string;
}

/** One try of a delivery. `dead`: it was the last one. */
export interface DeliveryEvent {
  readonly sink: DeliverySink;
  readonly result: "delivered" | "retry" | "dead";
  readonly attempt: number;
  /** The webhook's answer; null if there was none, and for the callback. */
  readonly statusCode: number | null;
  readonly durationMs: number;
}

/** This process searched for unknown batches and uploads of its own. */
export interface SweepEvent {
  readonly account: string;
  /** Number of calls to the provider. */
  readonly calls: number;
  /** Batches that were cancelled, or had ended, and were recorded. */
  readonly duplicates: number;
  readonly filesDeleted: number;
}

/** A run of `prune`, by hand or for `retentionMs`, has ended or was stopped. */
export interface PruneEvent extends PruneResult {
  readonly durationMs: number;
}

/** The wall clock stepped. Emitted again when the step has lasted and is accepted. */
export interface ClockStepEvent {
  readonly steppedMs: number;
  readonly believed: boolean;
}

/** The store has lost acknowledged data: it was emptied, or an older state was restored. */
export interface SetBackEvent {
  readonly code: string;
  readonly message: string;
}

/** The event objects by name. */
export interface DispatcherEvents {
  readonly loops: LoopsEvent;
  readonly lanes: LanesEvent;
  readonly batches: BatchesEvent;
  readonly enqueue: EnqueueEvent;
  readonly seal: SealEvent;
  readonly upload: SubmitEvent;
  readonly create: SubmitEvent;
  readonly adopt: AdoptEvent;
  readonly poll: PollEvent;
  readonly collect: CollectEvent;
  readonly usage: UsageEvent;
  readonly batch: BatchEvent;
  readonly leaseLost: LeaseLostEvent;
  readonly quarantine: QuarantineEvent;
  readonly split: SplitEvent;
  readonly pause: PauseEvent;
  readonly delivery: DeliveryEvent;
  readonly sweep: SweepEvent;
  readonly prune: PruneEvent;
  readonly clockStep: ClockStepEvent;
  readonly setBack: SetBackEvent;
}

/** Names of a dispatcher's events. */
export type DispatcherEventName = keyof DispatcherEvents;
/** A listener of one event. Its errors go to `onError`. */
export type DispatcherListener<Name extends DispatcherEventName> = (event: DispatcherEvents[Name]) => void;

/** All names, for checks. */
export const EVENT_NAMES: readonly DispatcherEventName[] = Object.keys({
  loops: true,
  lanes: true,
  batches: true,
  enqueue: true,
  seal: true,
  upload: true,
  create: true,
  adopt: true,
  poll: true,
  collect: true,
  usage: true,
  batch: true,
  leaseLost: true,
  quarantine: true,
  split: true,
  pause: true,
  delivery: true,
  sweep: true,
  prune: true,
  clockStep: true,
  setBack: true,
} satisfies Record<DispatcherEventName, true>) as DispatcherEventName[];
