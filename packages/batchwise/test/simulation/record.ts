// The records of a world: the callers' requests and their outcomes, recorded from outside the
// batcher. They contain the order of arrival and who has left; they decide nothing that the batcher
// decides.

import type { Plan } from "./schedule.ts";

export type Outcome =
  | { readonly isOk: true; readonly value: unknown; readonly at: number }
  | { readonly isOk: false; readonly error: unknown; readonly at: number };

export type Sight = "each" | "end" | "none";

/** Why a submit must fail before its item takes a place. */
export type Refusal = "closed" | "aborted" | "late" | "fault" | "too large" | "too many";

/** One submitted item, as its caller sees it. */
export class Caller {
  readonly plan: Plan;
  readonly submittedAt: number;
  readonly dueAt: number;
  readonly abort: AbortController | undefined;
  /** True if its call counts as small. */
  readonly isSmall: boolean;
  /**
   * When its outcome is visible: when it settles, when the whole call has settled, or never
   * (submitMany).
   */
  readonly sees: Sight;
  refusal: Refusal | undefined;
  place: Place | undefined;
  outcome: Outcome | undefined;
  abortedAt = Number.POSITIVE_INFINITY;
  abortedInStep = Number.POSITIVE_INFINITY;

  constructor(
    plan: Plan,
    submittedAt: number,
    timeoutMs: number,
    abort: AbortController | undefined,
    isSmall: boolean,
    sees: Sight,
  ) {
    this.isSmall = isSmall;
    this.plan = plan;
    this.submittedAt = submittedAt;
    this.dueAt = submittedAt + timeoutMs;
    this.abort = abort;
    this.sees = sees;
  }

  get priority(): number {
    return this.plan.wishes.priority ?? 0;
  }

  hasLeft(now: number): boolean {
    return this.outcome !== undefined || this.abort?.signal.aborted === true || this.dueAt <= now;
  }

  /** True if it left in an earlier step, so that no promise job of the batcher is pending. */
  hadLeft(now: number, step: number): boolean {
    return this.outcome !== undefined || this.abortedInStep < step || this.dueAt < now;
  }
}

/**
 * The answer of the handler, or of the cache, to one place. `isWhole`: the whole call failed, so it
 * may be repeated.
 */
export interface Answer {
  readonly at: number;
  readonly isOk: boolean;
  readonly isWhole: boolean;
  /** The value or the error. A wrong form has no error of its own: "BATCH_RESULT" stands for it. */
  readonly is: unknown;
}

/** One item in the queue or in the handler: of one caller, or of several with equal items. */
export class Place {
  readonly opener: Caller;
  readonly callers: Caller[];
  readonly key: string | undefined;
  readonly scope: string | undefined;
  readonly cacheKey: string;
  readonly cost: number;
  /** The context that the handler must receive. */
  readonly context: unknown;
  /** Its number in the order of arrival in the queue. */
  arrival: number;
  state: "lookup" | "waiting" | "handed" | "answered" = "waiting";
  /** True in the queue, false outside a full one; undefined if unknown. */
  isInside: boolean | undefined = undefined;
  /** The highest priority of the callers who joined before it was handed over. */
  priority: number;
  hasRisen = false;
  /**
   * True if its dedupe key was forgotten while it ran: no later caller joins it, and its result is
   * not cached.
   */
  isForgotten = false;
  enteredAt: number;
  /** The step in which its look-up ended; the batcher notices some promise jobs later. */
  enteredInStep = Number.NEGATIVE_INFINITY;
  batchId: string | undefined;
  lastCall: Call | undefined;
  answer: Answer | undefined;

  constructor(opener: Caller, of: Pick<Place, "key" | "scope" | "cacheKey" | "cost" | "context" | "arrival">) {
    this.opener = opener;
    this.callers = [opener];
    this.key = of.key;
    this.scope = of.scope;
    this.cacheKey = of.cacheKey;
    this.cost = of.cost;
    this.arrival = of.arrival;
    this.context = of.context;
    this.enteredAt = opener.submittedAt;
    this.priority = opener.priority;
    opener.place = this;
  }

  get item(): Plan["item"] {
    return this.opener.plan.item;
  }

  /** Start of the time for which its lane may be held for it. */
  get since(): number {
    return Math.max(this.opener.submittedAt, this.enteredAt);
  }

  /** An urgent caller makes a place urgent that has not been handed over. */
  join(caller: Caller): void {
    this.callers.push(caller);
    caller.place = this;
    if (this.state === "handed" || caller.priority <= this.priority) return;
    this.priority = caller.priority;
    this.hasRisen = true;
  }

  /**
   * True if it goes before another of the same line. If its priority has risen, only its age
   * counts.
   */
  isBefore(other: Place): boolean {
    return this.hasRisen || other.hasRisen ? this.since < other.since : this.arrival < other.arrival;
  }

  isGone(now: number): boolean {
    return this.callers.every((caller) => caller.hasLeft(now));
  }

  wasGone(now: number, step: number): boolean {
    return this.callers.every((caller) => caller.hadLeft(now, step));
  }
}

/** One call of the handler's `run`. */
export interface Call {
  readonly batchId: string;
  readonly places: readonly Place[];
  readonly startedAt: number;
  readonly signal: AbortSignal | undefined;
  /** False while it is being prepared. */
  isRunning: boolean;
  /** When `prepare` ended, and for how long the call then waited for a slot. */
  preparedAt: number;
  heldMs: number;
  /** True if its `finish` has ended, or it has none. */
  hasFinished: boolean;
  /** Number of missing parts of its answer: the answer itself, and each promise in it. */
  open: number;
  /** When it failed as a whole; Infinity if it did not. */
  failedAt: number;
  /** True while its answer has a wrong form that has not been noticed yet. */
  isMisshapen: boolean;
}

/** One batch, from the first stage that received its items. */
export interface Batch {
  readonly id: string;
  readonly size: number;
  readonly startedAt: number;
  readonly reason: string;
  /** Wait of its oldest item. */
  readonly waitedMs: number;
  calls: number;
  lastCall: Call;
  hasEnded: boolean;
}

export interface FlushRecord {
  readonly places: readonly Place[];
  readonly callers: readonly Caller[];
  readonly key: string | undefined;
  /** False if the entries that it covers are unknown. */
  readonly isKnown: boolean;
  isDone: boolean;
}
