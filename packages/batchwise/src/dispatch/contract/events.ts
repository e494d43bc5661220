// What a dispatcher tells the listeners of `on`: what an operator would graph. Types, and their
// names.
//
// `lanes` and `batches` show the whole store, and every process with a listener tells the same:
// take the last one. All others tell what this process has done: add them up over the processes.
// Nothing is told twice on purpose, and what happens between an event and a crash is told by
// nobody: sums that must be exact are in `stats()` and `usage()`. Times are milliseconds since 1970
// (`...At`) or spans of milliseconds (`...Ms`).

import type { TokenCounts } from "./rows.ts";
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

/** What most events are about. */
export interface OfBatch {
  readonly account: string;
  /** The batch's key. */
  readonly batch: string;
}

/** The loops of this process have started (`start`), or have ended (`stop`). Told once each. */
export interface LoopsEvent {
  readonly running: boolean;
}

/** How long the oldest request of a lane has waited. */
export interface LaneAge extends LaneStats {
  /** How long its oldest request has waited; null where all of them wait for their next try. */
  readonly oldestMs: number | null;
}

/** Seen at the looks of the loop that closes batches: every second at most, every 30 s at least. */
export interface LanesEvent {
  /** One entry per endpoint and model; those where nothing waits are left out. */
  readonly lanes: readonly LaneAge[];
}

/** How many batches are in a state, and since when the oldest. */
export interface BatchesInState {
  readonly state: BatchState;
  readonly count: number;
  /** Since the oldest of them was formed. */
  readonly oldestMs: number;
}

/** Seen at the same looks, every 10 s at most. */
export interface BatchesEvent {
  /** One entry per state that a batch is in; `done` is left out. */
  readonly states: readonly BatchesInState[];
}

/**
 * A call of `enqueue`, or a part of a call of `enqueueMany`, is stored. Single requests that are
 * stored in one commit are one event. Not emitted for `enqueueIn` of the Postgres store: this
 * process does not know whether that transaction commits.
 */
export interface EnqueueEvent {
  readonly stored: number;
  /** The same id and body were there before. */
  readonly existing: number;
  /** Refused: their id is taken by another body. */
  readonly conflicts: number;
}

/** A batch is formed. */
export interface SealEvent extends OfBatch {
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  /** How long the oldest request of its lane had waited. */
  readonly oldestMs: number;
}

/**
 * An upload or create has ended. `unknown`: the provider may have it; it is looked up before
 * anything is sent again.
 */
export interface SubmitEvent extends OfBatch {
  readonly requests: number;
  readonly bytes: number;
  /** 1 for the first intent to send the batch, one more for each later one. */
  readonly attempt: number;
  readonly result: "accepted" | "refused" | "unknown";
  /** Why not accepted: the provider's code, or one of the client's; null for `accepted`. */
  readonly code: string | null;
  readonly durationMs: number;
}

/** A create of unknown outcome was found at the provider. */
export interface AdoptEvent extends OfBatch {
  readonly providerBatchId: string;
  /** False where the provider has no tags: its results will show whether it is ours. */
  readonly verified: boolean;
  /** Batches of the same name that were found beside it and cancelled. */
  readonly duplicates: number;
}

/** A batch was looked at. Many may be seen by one call of the provider's list. */
export interface PollEvent extends OfBatch {
  /** `gone`: the provider does not know it. `failed`: no answer, see `code`. */
  readonly result: "seen" | "gone" | "failed";
  /** In the provider's word; null where it was not seen. */
  readonly providerState: string | null;
  /** Requests as the provider counts them; null where it does not, or not yet. */
  readonly counts: { readonly total: number; readonly succeeded: number; readonly failed: number } | null;
  /** Tokens of the batch so far, where the provider sums them up; null elsewhere. */
  readonly usage: Usage | null;
  readonly code: string | null;
  /** True where a list call showed it, false where it was asked for by its id. */
  readonly listed: boolean;
  /** Since it was sent. */
  readonly ageMs: number;
}

/** The results of a batch were read, to their end or to where they broke off. */
export interface CollectEvent extends OfBatch {
  /** Lines that came, whether or not they changed anything. */
  readonly lines: number;
  readonly durationMs: number;
  /** Why reading ended before its time; null where it came to the end. */
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
  /** US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** A batch has ended: each of its requests has an outcome, or is back in a lane. */
export interface BatchEvent {
  readonly batch: BatchRecord;
  /** Since it was formed. */
  readonly ageMs: number;
}

/** What `onBatch` is called with: the batch as it ends, and what its requests came to. */
export interface EndedBatch extends BatchRecord, TokenCounts {
  /**
   * Requests that ended in it, by status; one that was retried by hand meanwhile is not counted.
   */
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /** The others: they went back to a lane, to be tried again. */
  readonly requeued: number;
  /** US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** An operation on a batch had to stop. Another process goes on with it, or this one later. */
export interface LeaseLostEvent extends OfBatch {
  /**
   * `taken`: another process has it. `store`: the store gave no answer for too long. `set_back`:
   * see `setBack`.
   */
  readonly reason: "taken" | "store" | "set_back";
}

/** A batch was put aside, for a person to decide. */
export interface QuarantineEvent extends OfBatch {
  readonly code: string;
  readonly message: string;
  /** Requests in it that have no outcome. */
  readonly requests: number;
}

/**
 * A refused batch went back to its lane in two parts: its halves, or one request (the canary) and
 * the others.
 */
export interface SplitEvent extends OfBatch {
  readonly kind: "halves" | "canary";
  readonly requests: number;
  /** The provider's code for the refusal. */
  readonly code: string;
}

/**
 * Nothing is sent on a ledger for a while: the account is refused, or out of money, or its limit is
 * used up.
 */
export interface PauseEvent extends OfBatch {
  /** The account's name, or `<account>/<model>` where it is that model's limit. */
  readonly ledger: string;
  readonly until: number;
  readonly code: string;
}

/** One try of a delivery. `dead`: it was the last one. */
export interface DeliveryEvent {
  readonly sink: DeliverySink;
  readonly result: "delivered" | "retry" | "dead";
  readonly attempt: number;
  /** The webhook's answer; null where there was none, and for the callback. */
  readonly statusCode: number | null;
  readonly durationMs: number;
}

/** This process looked for batches and uploads of its own that nobody knows of. */
export interface SweepEvent {
  readonly account: string;
  /** Calls of the provider. */
  readonly calls: number;
  /** Batches that were cancelled, or found ended, and recorded. */
  readonly duplicates: number;
  readonly filesDeleted: number;
}

/** A run of `prune`, by hand or for `retentionMs`, has ended, or was cut off. */
export interface PruneEvent extends PruneResult {
  readonly durationMs: number;
}

/** The wall clock stepped; told again when the step has lasted and is believed. */
export interface ClockStepEvent {
  readonly steppedMs: number;
  readonly believed: boolean;
}

/**
 * The store has lost what it had answered for: it was emptied, or an older state of it came back.
 */
export interface SetBackEvent {
  readonly code: string;
  readonly message: string;
}

/** What a listener of each event gets. */
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

/** What `on` of a dispatcher listens to. */
export type DispatcherEventName = keyof DispatcherEvents;
/** A function that hears one event. What it throws goes to `onError`. */
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
