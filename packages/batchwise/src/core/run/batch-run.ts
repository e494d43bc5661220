// The life of one batch from the moment it leaves the queue: it opens the handler, calls it, and calls again for what
// Recovery has left to try, until every caller has an answer. It holds a slot while the handler works; a pause before
// another call holds none. Callers may leave at any moment, and when the last has gone its signal aborts.

import type { BatchWatch } from "../contract/observer.ts";
import { measureBatch } from "../policy/batch-cost.ts";
import { type Entry, type EntryHolder, liveOf } from "../queue/entry.ts";
import type { Flush } from "../queue/flush.ts";
import type { SelfCalls } from "../submit/self-calls.ts";
import type { BatchStart } from "./context.ts";
import { Evidence } from "./evidence.ts";
import { type CallingRun, HandlerCall } from "./handler-call.ts";
import { Recovery } from "./recovery.ts";
import type { RunEnvironment } from "./run-owner.ts";
import { failEntries } from "./settle.ts";

type Environment = RunEnvironment<BatchRun>;

const NO_ENTRIES: readonly Entry[] = [];

export class BatchRun implements EntryHolder, CallingRun {
  readonly isWaiting = false;
  readonly start: BatchStart;
  /** The flushes that wait for it. */
  flushes: readonly Flush[];
  readonly #environment: Environment;
  /** All that it was made of. */
  #taken: readonly Entry[];
  /** The entries of the present call, or of the next one. */
  #entries: readonly Entry[];
  /** Callers who have no answer yet, of all halves. */
  live: number;
  readonly evidence: Evidence;
  /** The handler's present call; null before it, and when it has ended. */
  call: HandlerCall | null = null;
  /** Null until a call fails. */
  #recovery: Recovery | null = null;
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

  constructor(entries: readonly Entry[], start: BatchStart, flushes: readonly Flush[], environment: Environment) {
    this.#taken = entries;
    this.#entries = entries;
    this.live = entries.length;
    this.countedAs = entries.length;
    this.start = start;
    this.evidence = new Evidence(start.startedAt);
    this.flushes = flushes;
    this.#environment = environment;
  }

  get selfCalls(): SelfCalls {
    return this.#environment.selfCalls;
  }

  get id(): string {
    return `${this.start.idPrefix}${this.start.sequence}`;
  }

  /** When the oldest of the callers without an answer was submitted; Infinity where there is none. */
  get oldestAt(): number {
    return liveOf(this.#unsettled).reduce((oldest, { moment }) => Math.min(oldest, moment.at), Infinity);
  }

  /** What the next call of a batch that rests costs; null where all have left for whom it would call. */
  get nextCost(): number | null {
    const entries = liveOf(this.#entries);
    return entries.length === 0 ? null : measureBatch(entries, this.#environment.options.batchCost);
  }

  /** Starts, with a slot or prepared ahead of one. */
  begin(): void {
    this.watch = this.#environment.services.observer?.started(this, this.#entries, this.start.waitMs) ?? null;
    this.#startCall();
  }

  /** Gives a batch the slot that it waits for. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.isResting) {
      this.isResting = false;
      this.#startCall();
    } else this.call?.grantSlot();
  }

  releaseSlot(): void {
    this.holdsSlot = false;
    this.#environment.owner.slotReleased();
  }

  /** Rejects its callers, aborts and ends. */
  close(error: unknown): void {
    failEntries(this.#unsettled, error, "rejected", this, this.#environment.services);
    this.call?.abort(error);
    this.#end();
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
    this.call?.abort(new DOMException("Every caller of the batch has gone.", "AbortError"));
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

  /** Calls the handler once it is open. */
  #open(): void {
    if (!this.#keepLive()) return;
    const opening = this.#environment.opening.begin();
    if (opening === undefined) this.#callHandler();
    else
      opening.then(
        () => {
          if (!this.isOver) this.#callHandler();
        },
        (error: unknown) => {
          if (!this.isOver) this.#failed(error, false);
        },
      );
  }

  #callHandler(): void {
    const { services, stages, owner } = this.#environment;
    if (this.#recovery === null && stages.open === undefined) {
      this.#callLive();
      return;
    }
    // Time has passed since the batch was packed. What else is due goes on after the call.
    owner.inOneStep(() => {
      services.deadlines.fireDue(services.clock.now());
      this.evidence.calledAt = services.clock.now();
      this.#callLive();
    });
  }

  /** Calls the handler for those who are left. */
  #callLive(): void {
    if (!this.#keepLive()) return;
    const { options } = this.#environment;
    const entries = this.#entries;
    let { cost } = this.start;
    this.evidence.isPart = entries.length !== this.start.size;
    if (this.evidence.isPart) {
      cost = measureBatch(entries, options.batchCost);
      // A cost function may have sent callers away.
      if (liveOf(entries) !== entries) {
        this.#callLive();
        return;
      }
    }
    this.call = new HandlerCall(this, entries, cost, this.#environment);
    this.call.begin();
  }

  callSucceeded(now: number): void {
    this.#callEnded(now);
    this.#next(0, now);
  }

  callFailed(error: unknown, late: HandlerCall | null): void {
    this.#callEnded(this.#environment.services.clock.now());
    if (late === null) this.#failed(error, true);
    else this.#giveUp(error, late);
  }

  #callEnded(now: number): void {
    this.evidence.callMs = this.call?.isCalledOff ? undefined : now - this.evidence.calledAt;
    this.call?.end();
    this.call = null;
  }

  #failed(error: unknown, mayHalve: boolean): void {
    this.#recovery ??= new Recovery(this.evidence, this.#environment);
    const { step, pauseMs } = this.#recovery.afterFailure(this.#entries, error, mayHalve);
    if (this.isOver) return;
    if (step === "retry") this.#retry(pauseMs);
    else if (step === "halves") this.#next(pauseMs);
    else this.#giveUp(error, null, pauseMs);
  }

  /** Answers with the error, aborts a call that has not ended, and goes on. */
  #giveUp(error: unknown, call: HandlerCall | null, pauseMs = 0): void {
    this.evidence.noteFailure(error);
    failEntries(this.#entries, error, "failed", this, this.#environment.services);
    call?.abort(error);
    this.#next(pauseMs);
  }

  /** Goes on with the next half after a pause, or ends. Each half is a call of its own to a limiter. */
  #next(pauseMs: number, now?: number): void {
    const half = this.#recovery?.nextHalf();
    if (half === undefined) this.#end(now);
    else {
      this.#entries = half;
      this.#retry(pauseMs);
    }
  }

  /** Calls again: at once where there is no pause and no limiter, else in the next free slot after the pause. */
  #retry(pauseMs: number): void {
    const { options, owner } = this.#environment;
    this.evidence.callMs = undefined;
    if (pauseMs === 0 && options.limiter === undefined) {
      this.#startCall();
      return;
    }
    this.isResting = true;
    owner.rested(this, pauseMs === 0);
    // The last caller may have left: the slot that was given back may be used at once.
    if (pauseMs > 0 && !this.isOver) this.#recovery?.pause.start(pauseMs, () => owner.wantsSlot(this));
  }

  /** Drops those who have left or been answered, who are not handed to the handler. Goes on where nobody is left. */
  #keepLive(): boolean {
    // Most batches lose nobody, and are not looked through.
    if (this.live === this.start.size) return true;
    this.#entries = liveOf(this.#entries);
    if (this.#entries.length > 0) return true;
    this.#next(0);
    return false;
  }

  /** All who may have no answer yet. */
  get #unsettled(): readonly Entry[] {
    return [...this.#entries, ...(this.#recovery?.untried ?? [])];
  }

  #end(now: number = this.#environment.services.clock.now()): void {
    if (this.isOver) return;
    this.isOver = true;
    this.selfCalls.ended(this, now - this.start.startedAt);
    this.call?.end();
    this.#recovery?.end();
    // A queue may keep entries that were taken out of turn: what callers gave stays in the handler's contexts alone.
    if (this.#environment.keepsTaken) for (const entry of this.#taken) entry.forget();
    this.#entries = NO_ENTRIES;
    this.#taken = NO_ENTRIES;
    this.#environment.owner.ended(this, now);
  }
}
