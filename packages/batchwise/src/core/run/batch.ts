// The life of one batch from the moment it leaves the queue: it opens the handler, calls it, settles its callers, pauses
// and calls again for what Recovery has left to try, until every caller has an answer. It holds a slot while the handler
// works; a pause holds none. Callers may leave at any moment; when the last has left, the signal of the call aborts.

import { handlerTimeoutError } from "../contract/errors.ts";
import type { BatchWatch } from "../contract/observer.ts";
import { isThenable } from "../contract/thenable.ts";
import { itemsOf, measureBatch } from "../policy/batch-cost.ts";
import { type Entry, type EntryHolder, liveOf } from "../queue/entry.ts";
import type { Flush } from "../queue/flush.ts";
import type { CallingBatch, SelfCalls } from "../submit/self-calls.ts";
import { Timeout } from "../time/deadlines.ts";
import { Call, type CalledBatch } from "./call.ts";
import { Departures } from "./departures.ts";
import { runStages, type StagedBatch } from "./handler.ts";
import { Recovery } from "./recovery.ts";
import { answer, failEntries, type SettledBatch } from "./settle.ts";
import type { BatchFacts, BatchSurroundings } from "./surroundings.ts";

export class Batch implements EntryHolder, CalledBatch, CallingBatch, SettledBatch, StagedBatch {
  readonly isWaiting = false;
  readonly facts: BatchFacts;
  readonly #around: BatchSurroundings<Batch>;
  phase: "opening" | "calling" | "pausing" | "done" = "opening";
  /** All that it was made of. */
  #taken: readonly Entry[];
  /** The entries of the present call, or of the next one. */
  #entries: readonly Entry[];
  /** Callers who have no answer yet, of all halves. */
  live: number;
  /** The flushes that wait for it. */
  flushes: readonly Flush[];
  /** For the observer; null where there is none. */
  watch: BatchWatch | null = null;

  holdsSlot = false;
  /** How many running items it counts for, and where it stands among the running batches; see slots.ts. */
  countedAs: number;
  slotIndex = 0;
  /** The turn in which it began, where it has outlasted the call of the handler. */
  turn: object | null = null;

  /** The number of the present call, or of the last one: an answer to another call comes too late. */
  #callNumber = 0;
  /** What the handler sees of the present call; null where there is none. */
  #call: Call | null = null;
  /** True once it has come to the handler's `run`. */
  #hasRun = false;
  #limit: Timeout | null = null;
  #grant: (() => void) | null = null;
  #isCalling = false;
  #callsAgain = false;
  /** Null until a call fails. */
  #recovery: Recovery | null = null;

  /** When the last call began, after the opening and a pause before it; later by as long as it was held for a slot. */
  #calledAt: number;
  /** How long the last call took; undefined where the handler was not called, or did not end it. */
  callMs: number | undefined = undefined;
  /** True where the last call was for a part of the batch's items. */
  isPart = false;
  /** True once the batch has failed as a whole, after all attempts, and the error, which may be undefined. */
  hasFailed = false;
  error: unknown;
  /** True once a half has failed, after the whole had. */
  hasFailedHalf = false;
  /** Null until a caller leaves. */
  departures: Departures | null = null;

  constructor(
    entries: readonly Entry[],
    facts: BatchFacts,
    flushes: readonly Flush[],
    around: BatchSurroundings<Batch>,
  ) {
    this.#taken = entries;
    this.#entries = entries;
    this.live = entries.length;
    this.countedAs = entries.length;
    this.facts = facts;
    this.#calledAt = facts.startedAt;
    this.flushes = flushes;
    this.#around = around;
  }

  get id(): string {
    return `${this.facts.idPrefix}${this.facts.sequence}`;
  }

  get isOver(): boolean {
    return this.phase === "done";
  }

  get selfCalls(): SelfCalls {
    return this.#around.selfCalls;
  }

  /** Starts, with a slot or prepared ahead of one. */
  begin(): void {
    this.watch = this.#around.services.observer?.started(this, this.#entries, this.facts.waitMs) ?? null;
    this.#start();
  }

  /** Opens and calls the handler, and again for as long as it answers at once and something is left to try. */
  #start(): void {
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

  // Opening.

  #open(): void {
    this.phase = "opening";
    if (!this.#keepLive()) return;
    const opening = this.#around.opening?.begin();
    if (opening === undefined) this.#callOnce();
    else
      opening.then(
        () => this.isOver || this.#callOnce(),
        (error: unknown) => this.isOver || this.#failed(error, false),
      );
  }

  /** Drops those who have left or been answered, who are not handed to the handler. Goes on where nobody is left. */
  #keepLive(): boolean {
    // Most batches lose nobody, and are not looked through.
    if (this.live === this.facts.size) return true;
    this.#entries = liveOf(this.#entries);
    if (this.#entries.length > 0) return true;
    this.#next(0);
    return false;
  }

  // Calling.

  #callOnce(): void {
    const { services, stages, owner } = this.#around;
    if (this.#recovery === null && stages.open === undefined) this.#callLive();
    // Time has passed since the batch was packed. What else is due goes on after the call.
    else
      owner.inOneStep(() => {
        services.deadlines.fireDue(services.clock.now());
        this.#calledAt = services.clock.now();
        this.#callLive();
      });
  }

  /** Calls the handler for those who are left. */
  #callLive(): void {
    if (!this.#keepLive()) return;
    const [entries, facts] = [this.#entries, this.facts];
    this.isPart = entries.length !== facts.size;
    const cost = this.isPart ? measureBatch(entries, this.#around.options.batchCost) : facts.cost;
    // A cost function may have sent callers away.
    if (this.isPart && liveOf(entries) !== entries) this.#callLive();
    else this.#callHandler(new Call(this, entries, cost));
  }

  #callHandler(call: Call): void {
    this.phase = "calling";
    this.#call = call;
    this.#callNumber += 1;
    this.#grant = null;
    if (this.holdsSlot) this.#armLimit();
    const number = this.#callNumber;
    const { services } = this.#around;
    let places: unknown;
    try {
      places = this.#ask(call, number);
      if (isThenable(places)) {
        // It may never settle, so what waits for it holds nothing of the callers.
        Promise.resolve(places).then(
          (late) => answer(this, this.#entries, number, late, services),
          (error: unknown) => this.refused(number, error),
        );
        return;
      }
    } catch (error) {
      this.refused(number, error);
      return;
    }
    answer(this, this.#entries, number, places, services);
  }

  #ask(call: Call, number: number): unknown {
    const { stages } = this.#around;
    const items = itemsOf(this.#entries);
    const isStaged = stages.prepare !== undefined || stages.finish !== undefined;
    this.#hasRun = !isStaged;
    const run = isStaged ? () => runStages(this.#around, items, call, number, this) : stages.run;
    if (this.watch === null) return this.selfCalls.call(this, run, items, call);
    return this.watch.around(() => this.selfCalls.call(this, run, items, call));
  }

  runs(): void {
    this.#hasRun = true;
  }

  /** Resolves when the batch has a slot; undefined where it has one. */
  slot(): Promise<void> | undefined {
    if (this.holdsSlot) return undefined;
    const { clock } = this.#around.services;
    const preparedAt = clock.now();
    return new Promise((resolve) => {
      this.#grant = () => {
        this.#calledAt += clock.now() - preparedAt;
        resolve();
      };
    });
  }

  /** Gives a batch the slot that it waits for, prepared or pausing. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.phase === "pausing") this.#start();
    else if (this.#call !== null) {
      this.#armLimit();
      this.#grant?.();
    }
  }

  /** Gives the slot back before the batch has ended. */
  releaseSlot(): void {
    if (!this.holdsSlot) return;
    this.holdsSlot = false;
    this.#around.owner.slotReleased();
  }

  #armLimit(): void {
    const { options, services } = this.#around;
    const { handlerTimeoutMs } = options;
    if (handlerTimeoutMs === Infinity) return;
    this.#limit ??= new Timeout(services.deadlines);
    this.#limit.start(handlerTimeoutMs, () => {
      const error = handlerTimeoutError(services.name, handlerTimeoutMs, this.#entries.length);
      const late = this.#call;
      this.#measure(services.clock.now());
      this.#giveUp(error, late, 0);
    });
  }

  /** True for a call whose answer is still waited for. */
  isPresent(number: number): boolean {
    return this.#call !== null && number === this.#callNumber;
  }

  // Settling.

  /** Each caller of the call has its answer. */
  allArrived(number: number, now: number): void {
    if (!this.isPresent(number)) return;
    this.#measure(now);
    this.#next(0, now);
  }

  /** The call has failed as a whole. */
  refused(number: number, error: unknown): void {
    if (!this.isPresent(number)) return;
    this.#measure(this.#around.services.clock.now());
    this.#failed(error, true);
  }

  /** The present call has ended at this time. */
  #measure(now: number): void {
    const isCalledOff = this.#call !== null && Call.isAborted(this.#call) && !this.#hasRun;
    this.callMs = isCalledOff ? undefined : now - this.#calledAt;
    this.#endCall();
  }

  /** It may run on: what it reads of the requests is read before they are forgotten. */
  #endCall(): void {
    this.#limit?.clear();
    if (this.#call !== null && this.#around.keepsTaken) Call.keepRequests(this.#call);
    this.#call = null;
  }

  #failed(error: unknown, mayHalve: boolean): void {
    this.#recovery ??= new Recovery(this.#around);
    const { step, pauseMs } = this.#recovery.afterFailure(this.#entries, error, mayHalve);
    if (this.isOver) return;
    if (step === "retry") this.#retry(pauseMs);
    else if (step === "halves") this.#next(pauseMs);
    else this.#giveUp(error, null, pauseMs);
  }

  /** Rejects its callers, aborts a call that has not ended, and goes on. */
  #giveUp(error: unknown, late: Call | null, pauseMs: number): void {
    if (this.isSplit) this.hasFailedHalf = true;
    else {
      this.hasFailed = true;
      this.error = error;
    }
    failEntries(this.#entries, error, "failed", this, this.#around.services);
    if (late !== null) this.#abort(late, error);
    this.#next(pauseMs);
  }

  /** Listeners of the signal are the handler's: they run in the batcher's own async context, not in a caller's. */
  #abort(call: Call, reason: unknown): void {
    this.#around.inContext(() => Call.abort(call, reason));
  }

  /** Goes on with the next half after a pause, or ends. Each half is a call of its own to a limiter. */
  #next(pauseMs: number, now?: number): void {
    const half = this.#recovery?.nextHalf();
    if (half !== undefined) this.#entries = half;
    if (half === undefined) this.#end(now);
    else this.#retry(pauseMs);
  }

  // Pausing.

  /** Calls again: at once where there is no pause and no limiter, else in the next free slot after the pause. */
  #retry(pauseMs: number): void {
    const { options, owner } = this.#around;
    this.callMs = undefined;
    if (pauseMs === 0 && options.limiter === undefined) {
      this.#start();
      return;
    }
    this.phase = "pausing";
    owner.paused(this, pauseMs === 0);
    // The last caller may have left: the slot that was given back may be used at once.
    if (pauseMs > 0 && !this.isOver) this.#recovery?.pause.start(pauseMs, () => owner.wantsSlot(this));
  }

  /** What the next call of a batch that pauses costs; null where all have left for whom it would call. */
  get nextCost(): number | null {
    const entries = liveOf(this.#entries);
    return entries.length === 0 ? null : measureBatch(entries, this.#around.options.batchCost);
  }

  /** When the oldest of the callers without an answer was submitted; Infinity where there is none. */
  get oldestAt(): number {
    return liveOf(this.#unsettled).reduce((oldest, { moment }) => Math.min(oldest, moment.at), Infinity);
  }

  // Done.

  #end(now: number = this.#around.services.clock.now()): void {
    if (this.isOver) return;
    this.phase = "done";
    this.selfCalls.ended(this, now - this.facts.startedAt);
    this.#endCall();
    this.#recovery?.end();
    // A queue may keep entries that were taken out of turn: what callers gave stays in the handler's contexts alone.
    if (this.#around.keepsTaken) for (const entry of this.#taken) entry.forget();
    this.#entries = [];
    this.#taken = [];
    this.#around.owner.ended(this, now);
  }

  /** Rejects its callers, aborts and ends. */
  close(error: unknown): void {
    failEntries(this.#unsettled, error, "rejected", this, this.#around.services);
    if (this.#call !== null) this.#abort(this.#call, error);
    this.#end();
  }

  /** All who may have no answer yet. */
  get #unsettled(): readonly Entry[] {
    return [...this.#entries, ...(this.#recovery?.untried ?? [])];
  }

  /** True once it has failed as a whole and is called in halves. */
  get isSplit(): boolean {
    return this.#recovery?.isSplit === true;
  }

  // Callers, who may leave or be answered in any phase.

  noteSettled(count: number): void {
    this.live -= count;
    if (this.phase === "pausing") this.#around.owner.pausingLeft(count);
  }

  /** A caller has left, who had until `dueAt`; with the last one goes the reason to run. */
  left(entry: Entry, dueAt: number): void {
    this.departures ??= new Departures();
    if (this.#around.services.clock.now() >= dueAt) this.departures.noteExpired(dueAt - entry.moment.at);
    this.noteSettled(1);
    if (this.isOver || this.live > 0) return;
    this.departures.isComplete = true;
    const reason = new DOMException("Every caller of the batch has gone.", "AbortError");
    if (this.#call !== null) this.#abort(this.#call, reason);
    if (!this.holdsSlot) this.#end();
  }

  raise(): void {}
  noteDeadline(): void {}
}
