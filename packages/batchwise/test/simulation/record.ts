// The small model: what callers asked for and what has become of it, written down from outside the
// batcher. It knows the order of arrival and who has left; it does not decide anything the batcher
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
  /** Of a call that counts as small. */
  readonly isSmall: boolean;
  /**
   * Whether its outcome is seen when it settles, when the whole call has settled, or not at all
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

  /**
   * True when it left in a step before this one: no promise job of the batcher can still be on its
   * way.
   */
  hadLeft(now: number, step: number): boolean {
    return this.outcome !== undefined || this.abortedInStep < step || this.dueAt < now;
  }
}

/**
 * What the handler, or the cache, said to one place. `isWhole`: the whole call failed, so it may be
 * made again.
 */
export interface Answer {
  readonly at: number;
  readonly isOk: boolean;
  readonly isWhole: boolean;
  /**
   * The value or the error. A wrong shape has no error of its own: "BATCH_RESULT" stands for it.
   */
  readonly is: unknown;
}

/**
 * One item in the queue or with the handler: of one caller, or of several where equal items share
 * it.
 */
export class Place {
  readonly opener: Caller;
  readonly callers: Caller[];
  readonly key: string | undefined;
  readonly scope: string | undefined;
  readonly cacheKey: string;
  readonly cost: number;
  /** The context that the handler must find with it. */
  readonly context: unknown;
  /** Its number in the order of arrival in the queue. */
  arrival: number;
  state: "lookup" | "waiting" | "handed" | "answered" = "waiting";
  /** Whether it is in the queue or outside a full one; undefined where that cannot be told. */
  isInside: boolean | undefined = undefined;
  /** The highest of those who joined before it was handed over. */
  priority: number;
  hasRisen = false;
  /**
   * It ran when its dedupe key was forgotten: nobody joins it any more, and its result is not
   * stored.
   */
  isForgotten = false;
  enteredAt: number;
  /** The step in which a look-up of it ended: the batcher hears of that some promise jobs later. */
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

  /** Since when its lane may be held for it. */
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
   * True when it goes before another of the same line. One whose priority has risen goes by its age
   * alone.
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

/** One call of the handler's part that answers. */
export interface Call {
  readonly batchId: string;
  readonly places: readonly Place[];
  readonly startedAt: number;
  readonly signal: AbortSignal | undefined;
  /** False while it is only being prepared. */
  isRunning: boolean;
  /** When `prepare` had ended, and how long the call was held for a slot then. */
  preparedAt: number;
  heldMs: number;
  /** Its `finish` has ended, where there is one. */
  hasFinished: boolean;
  /** Parts of its answer that are still to come: the answer itself, and each promise in it. */
  open: number;
  /** When it failed as a whole; Infinity where it did not. */
  failedAt: number;
  /** Its answer has a wrong shape, which nobody has noticed yet. */
  isMisshapen: boolean;
}

/** One batch: from the first stage that saw its items. */
export interface Batch {
  readonly id: string;
  readonly size: number;
  readonly startedAt: number;
  readonly reason: string;
  /** How long its oldest item had waited. */
  readonly waitedMs: number;
  calls: number;
  lastCall: Call;
  hasEnded: boolean;
}

export interface FlushRecord {
  readonly places: readonly Place[];
  readonly callers: readonly Caller[];
  readonly key: string | undefined;
  /** False where it could not be told what it covers. */
  readonly isKnown: boolean;
  isDone: boolean;
}
