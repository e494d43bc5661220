// The life of one batch from the moment it leaves the queue: calls to the handler, time limit, further attempts, halves,
// and the answer to every caller. It holds a slot while the handler works; a pause before a retry holds none. Callers may
// leave at any moment, and when the last has gone its signal aborts.

import { batchResultError, closedError, handlerTimeoutError, nameError, resultLength } from "../contract/errors.ts";
import type { BatchWatch } from "../contract/observer.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import { itemsOf, measureBatch } from "../policy/batch-cost.ts";
import type { PackedBatch } from "../policy/caps.ts";
import type { Entry, EntryHolder } from "../queue/entry.ts";
import type { Flush } from "../queue/flush.ts";
import { Timeout } from "../time/deadlines.ts";
import type { BatchStart, CallContext } from "./context.ts";
import { Evidence } from "./evidence.ts";
import { type CallingRun, HandlerCall } from "./handler-call.ts";
import { liveOf } from "./live-entries.ts";
import { askedPause, backoffOf, isWorthRetrying } from "./retry-policy.ts";
import type { RunEnvironment } from "./run-owner.ts";
import { failEntries, ignorePlaces, type SettledBatch, Settling } from "./settle.ts";

const NO_ENTRIES: readonly Entry[] = [];

export class BatchRun implements EntryHolder, CallingRun, SettledBatch {
  readonly isWaiting = false;
  readonly start: BatchStart;
  /** The flushes that wait for it. */
  flushes: readonly Flush[];
  readonly #environment: RunEnvironment<BatchRun>;
  readonly #waitedMs: number;
  /** All that it was made of. */
  #taken: readonly Entry[];
  /** The entries of the present call, or of the next one. */
  #entries: readonly Entry[];
  /** Halves that have not been tried yet, the next one last. */
  readonly #halves: (readonly Entry[])[] = [];
  /** Callers who have no answer yet, of all halves. */
  live: number;
  readonly evidence: Evidence = new Evidence();
  #attempt = 0;
  /** The handler's present call; null before it, and when it has ended. */
  call: HandlerCall | null = null;
  /** That of the last call, where the queue may keep what was taken. */
  #context: CallContext | null = null;
  /** When the last call began, after the opening of the handler and a pause before it. */
  #calledAt: number;
  /** The time limit of a call, or the pause before the next one. */
  readonly #timeout: Timeout;
  #error: unknown;
  #isCalling = false;
  #callsAgain = false;
  isOver = false;
  holdsSlot = false;
  /** True while it waits before another call. */
  isResting = false;
  /** How many running items it counts for. */
  countedAs: number;
  /** Where it stands among the running ones; see slots.ts. */
  slotIndex = 0;
  /** Stands for the turn in which it began, where it has outlasted the call of the handler. */
  turn: object | null = null;
  /** For the observer; null where there is none. */
  watch: BatchWatch | null = null;

  constructor(
    { entries }: PackedBatch,
    start: BatchStart,
    waitedMs: number,
    flushes: readonly Flush[],
    environment: RunEnvironment<BatchRun>,
  ) {
    this.#taken = entries;
    this.#entries = entries;
    this.live = entries.length;
    this.countedAs = entries.length;
    this.start = start;
    this.#calledAt = start.startedAt;
    this.#waitedMs = waitedMs;
    this.flushes = flushes;
    this.#environment = environment;
    this.#timeout = new Timeout(environment.services.deadlines);
  }

  get id(): string {
    return `${this.start.idPrefix}${this.start.sequence}`;
  }

  /** When the oldest of the callers without an answer was submitted; Infinity where there is none. */
  get oldestAt(): number {
    const live = [this.#entries, ...this.#halves].flatMap(liveOf);
    return live.reduce((oldest, { moment }) => Math.min(oldest, moment.at), Infinity);
  }

  /** False where all have left for whom a batch that rests would call next. */
  get hasCallers(): boolean {
    return this.#entries.some(({ recipient }) => recipient !== null);
  }

  /** What the next call of a batch that rests costs. */
  get cost(): number {
    return measureBatch(liveOf(this.#entries), this.#environment.options.batchCost);
  }

  /** Tells the observer that it is about to run. */
  observe(): void {
    this.watch = this.#environment.services.observer?.started(this, this.#entries, this.#waitedMs) ?? null;
  }

  /** Starts, with a slot or prepared ahead of one; ends where all its callers have left by now. */
  begin(): void {
    if (this.live === 0) this.#end();
    else this.#startCall();
  }

  /** Gives a batch the slot that it waits for. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.isResting) {
      this.isResting = false;
      this.#callAgain();
      return;
    }
    if (this.call !== null) this.#armLimit();
    this.call?.slotGranted();
  }

  releaseSlot(): void {
    this.holdsSlot = false;
    this.#environment.owner.slotReleased();
  }

  /** Rejects its callers with CLOSED and aborts. */
  close(): void {
    this.#cancel(closedError(this.#environment.services.name), "rejected");
  }

  noteSettled(count: number): void {
    this.live -= count;
    if (this.isResting) this.#environment.owner.restingLeft(count);
  }

  /** A caller has left; with the last one goes the reason to run. */
  left(entry: Entry, dueAt: number): void {
    this.evidence.noteLeft(entry, dueAt, this.#environment.services.clock.now());
    this.noteSettled(1);
    if (this.isOver || this.live > 0) return;
    this.evidence.isDeserted = true;
    this.#abort(this.call, new DOMException("Every caller of the batch has gone.", "AbortError"));
    if (!this.holdsSlot) this.#end();
  }

  raise(): void {}

  noteDeadline(): void {}

  /** Calls the handler, and again for as long as it answers at once and something is left to try. */
  #startCall(): void {
    this.#callsAgain = true;
    if (this.#isCalling) return;
    this.#isCalling = true;
    try {
      while (this.#callsAgain) {
        this.#callsAgain = false;
        this.#open();
      }
    } finally {
      this.#isCalling = false;
    }
  }

  /** Calls the handler once it is open. Callers who have left by then are not handed to it. */
  #open(): void {
    this.#attempt += 1;
    this.evidence.callMs = undefined;
    const opening = this.#environment.calls.opening();
    if (opening === undefined) {
      if (this.evidence.isSplit || this.#attempt > 1) this.#calledAt = this.#environment.services.clock.now();
      this.#callHandler();
      return;
    }
    opening.then(
      () => {
        if (this.isOver) return;
        this.#calledAt = this.#environment.services.clock.now();
        if (this.#keepLive()) this.#callHandler();
        else this.#next();
      },
      (error: unknown) => {
        if (!this.isOver) this.#failed(error, false);
      },
    );
  }

  #callHandler(): void {
    const entries = this.#entries;
    const { options, keepsTaken } = this.#environment;
    let { cost } = this.start;
    this.evidence.isPart = entries.length !== this.start.size;
    if (this.evidence.isPart) {
      cost = measureBatch(entries, options.batchCost);
      if (this.isOver) return;
      // A cost function may have sent callers away.
      const isAnyLeft = this.#keepLive();
      if (this.#entries.length < entries.length) {
        if (isAnyLeft) this.#callHandler();
        else this.#next();
        return;
      }
    }
    const call = new HandlerCall(this, entries, cost);
    this.call = call;
    if (this.holdsSlot) this.#armLimit();
    if (keepsTaken) this.#keepContext(call.context);
    let answer: unknown;
    try {
      answer = this.watch === null ? this.#ask(call) : this.watch.around(() => this.#ask(call));
      if (isThenable(answer)) {
        Promise.resolve(answer).then(
          (places) => this.#answered(call, places),
          (error: unknown) => this.#callFailed(call, error),
        );
        return;
      }
    } catch (error) {
      this.#callFailed(call, error);
      return;
    }
    this.#answered(call, answer);
  }

  #ask(call: HandlerCall): unknown {
    return this.#environment.calls.call(itemsOf(call.entries), call.context, call);
  }

  #answered(call: HandlerCall, places: unknown): void {
    const { entries } = call;
    if (call.isOver) {
      ignorePlaces(places);
      return;
    }
    const { services } = this.#environment;
    if (resultLength(places) !== entries.length) {
      ignorePlaces(places);
      this.#callFailed(call, batchResultError(services.name, places, entries.length));
      return;
    }
    const settling = new Settling(entries, this, services, (now) => {
      if (!call.isOver) this.#succeeded(now);
    });
    if (settling.settle(places as ArrayLike<unknown>) === 0) this.#succeeded(settling.now);
  }

  #succeeded(now: number): void {
    this.#callEnded(now);
    this.#next(now);
  }

  #callFailed(call: HandlerCall, error: unknown): void {
    if (call.isOver) return;
    this.#callEnded(this.#environment.services.clock.now());
    this.#failed(error, true);
  }

  #callEnded(now: number): void {
    this.evidence.callMs = now - this.#calledAt;
    this.call = null;
    this.#timeout.clear();
  }

  #failed(error: unknown, mayHalve: boolean): void {
    const { options, services } = this.#environment;
    nameError(error, services.name);
    const askedMs = askedPause(options, error, services);
    const entries = liveOf(this.#entries);
    if (entries.length === 0) {
      this.#giveUp(error);
    } else if (isWorthRetrying(options.retry, this.#attempt, error, services.events)) {
      if (!this.isOver) this.#retry(error, askedMs);
    } else if (mayHalve && options.isolateFailures && entries.length > 1) {
      this.evidence.isSplit = true;
      const middle = entries.length >> 1;
      this.#halves.push(entries.slice(middle), entries.slice(0, middle));
      this.#next();
    } else {
      this.#giveUp(error);
    }
  }

  /** Answers with the error, aborts a call that has not ended, and goes on. */
  #giveUp(error: unknown, call: HandlerCall | null = null): void {
    if (this.evidence.isSplit) this.evidence.hasFailedHalf = true;
    else this.#error = error;
    failEntries(this.#entries, error, "failed", this, this.#environment.services);
    this.#abort(call, error);
    this.#next();
  }

  /** Calls again with all who are still there: at once where there is no pause, else in the next free slot after it. */
  #retry(error: unknown, askedMs: number): void {
    const { options, services, owner } = this.#environment;
    const ownMs = backoffOf(options.retry?.backoffMs ?? 0, this.#attempt, error, services);
    const backoffMs = Math.max(ownMs, askedMs);
    if (this.isOver) return;
    if (backoffMs > 0) {
      this.#rest(false);
      if (!this.isOver) this.#timeout.start(backoffMs, () => owner.wantsSlot(this));
    } else if (options.limiter !== undefined) this.#rest(true);
    else this.#callAgain();
  }

  /** The last caller may leave meanwhile: the slot that is given back may be used at once. */
  #rest(isDue: boolean): void {
    this.isResting = true;
    this.evidence.callMs = undefined;
    this.#environment.owner.rested(this, isDue);
  }

  #callAgain(): void {
    if (this.#keepLive()) this.#startCall();
    else this.#next();
  }

  /** Drops those who have left or been answered. True where there is anyone left. */
  #keepLive(): boolean {
    this.#entries = liveOf(this.#entries);
    return this.#entries.length > 0;
  }

  /** Goes on with the next half, or ends. Each half is a call of its own to a limiter. */
  #next(now?: number): void {
    this.#timeout.clear();
    for (let half = this.#halves.pop(); half !== undefined; half = this.#halves.pop()) {
      this.#entries = half;
      if (!this.#keepLive()) continue;
      this.#attempt = 0;
      if (this.#environment.options.limiter === undefined) this.#startCall();
      else this.#rest(true);
      return;
    }
    this.#end(now);
  }

  #armLimit(): void {
    const { handlerTimeoutMs } = this.#environment.options;
    if (handlerTimeoutMs < Infinity) {
      this.#timeout.start(handlerTimeoutMs, () => this.#timedOut(handlerTimeoutMs));
    }
  }

  /** Other halves have calls of their own; a late answer to this one counts for nothing. */
  #timedOut(handlerTimeoutMs: number): void {
    const { services } = this.#environment;
    const { call } = this;
    const error = handlerTimeoutError(services.name, handlerTimeoutMs, this.#entries.length);
    this.#callEnded(services.clock.now());
    this.#giveUp(error, call);
  }

  /** Listeners of the signal are the handler's: they run in the batcher's own async context, not in a caller's. */
  #abort(call: HandlerCall | null, reason: unknown): void {
    if (call !== null) this.#environment.inContext(() => call.signal.abort(reason));
  }

  /** Answers all callers with the error, aborts and ends. */
  #cancel(error: unknown, outcome: FailedOutcome): void {
    const { services } = this.#environment;
    for (const entries of [this.#entries, ...this.#halves]) failEntries(entries, error, outcome, this, services);
    this.#halves.length = 0;
    this.#abort(this.call, error);
    this.#end();
  }

  #end(now: number = this.#environment.services.clock.now()): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#timeout.clear();
    if (this.#environment.keepsTaken) this.#forgetTaken();
    this.#entries = NO_ENTRIES;
    this.#taken = NO_ENTRIES;
    const runMs = now - this.start.startedAt;
    this.#environment.owner.ended(this, { runMs, waitMs: this.#waitedMs, error: this.#error }, now);
  }

  /** An earlier call may run on: what it reads of the requests is read before they are forgotten. */
  #keepContext(context: CallContext): void {
    this.#context?.keepRequests();
    this.#context = context;
  }

  /** A queue may keep entries that were taken out of turn: what callers gave stays in the handler's contexts alone. */
  #forgetTaken(): void {
    this.#context?.keepRequests();
    this.#context = null;
    for (const entry of this.#taken) entry.forget();
  }
}
