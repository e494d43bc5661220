// The life of one batch after it leaves the queue, in the order of its phases: it opens the
// handler, calls it, and settles its callers. After a failed call it pauses and calls again, as
// Recovery decides, until every caller has an answer. It holds a slot while the handler works, but
// not in a pause. Callers may leave at any moment; the last one aborts the call's signal.

import { handlerTimeoutError } from "../contract/errors.ts";
import type { BatchWatch } from "../contract/observer.ts";
import type { BatchReason } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import { itemsOf, measureBatch } from "../policy/batch-cost.ts";
import type { PackedBatch } from "../policy/caps.ts";
import type { EndedBatch } from "../policy/packer.ts";
import { type Entry, type EntryHolder, liveOf } from "../queue/entry.ts";
import { type Flush, NO_FLUSHES } from "../queue/flush.ts";
import type { CallingBatch, SelfCalls } from "../submit/self-calls.ts";
import { Timeout } from "../time/deadlines.ts";
import { Call } from "./call.ts";
import { runStages, type StagedBatch } from "./handler.ts";
import { type RecoveringBatch, Recovery } from "./recovery.ts";
import { answer, failEntries, type SettledBatch } from "./settle.ts";
import type { BatchSurroundings } from "./surroundings.ts";

export class Batch implements EntryHolder, CallingBatch, EndedBatch, RecoveringBatch, SettledBatch, StagedBatch {
  readonly isWaiting = false;
  readonly #around: BatchSurroundings<Batch>;
  phase: "opening" | "calling" | "pausing" | "done" = "opening";
  readonly sequence: number;
  readonly key: string | undefined;
  readonly reason: BatchReason;
  readonly size: number;
  readonly cost: number;
  readonly startedAt: number;
  /** Wait of its oldest item, in ms. */
  readonly waitMs: number;
  /** See `BatchEvent`. */
  readonly predictedMs: number | null;
  /** All entries that it was made of. */
  #taken: readonly Entry[];
  /** The entries of the current call, or of the next one. */
  entries: readonly Entry[];
  /** Number of callers without an answer, in all halves. */
  live: number;
  /** The flushes that wait for it. */
  flushes: readonly Flush[] = NO_FLUSHES;
  /** The observer's watch; null if there is none. */
  #watch: BatchWatch | null = null;

  holdsSlot = false;
  /** Number of running items, and its index among the running batches; see slots.ts. */
  countedAs: number;
  slotIndex = 0;
  /** The turn in which it began, if that is watched; see gathering.ts. */
  turn: object | null = null;

  /** Number of the current or last call: an answer to an earlier call is too late. */
  #callNumber = 0;
  /** The handler's context of the current call; null if there is none. */
  #call: Call | null = null;
  /** True once the current call has reached the handler's `run`. */
  #hasRun = false;
  #limit: Timeout | null = null;
  #grant: (() => void) | null = null;
  #isCalling = false;
  #callsAgain = false;
  /** Failures, and what is left to try. Null until a call fails. */
  failure: Recovery<Batch> | null = null;

  /** When the last call began. Waiting for a slot within the call does not count. */
  #calledAt: number;
  /** Duration of the last call; undefined if the handler was not called or did not end it. */
  callMs: number | undefined = undefined;
  isPart = false;
  wasLeft = false;
  /** Callers who left by their deadlines, and the longest time that one of them had. */
  #expired = 0;
  #longestTimeoutMs = 0;

  /** `now`: when it was closed. */
  constructor(
    { entries, cost }: PackedBatch,
    reason: BatchReason,
    key: string | undefined,
    now: number,
    around: BatchSurroundings<Batch>,
  ) {
    this.#around = around;
    around.sequence += 1;
    this.sequence = around.sequence;
    this.key = key;
    this.reason = reason;
    this.size = entries.length;
    this.cost = cost;
    this.startedAt = now;
    this.#taken = entries;
    this.entries = entries;
    this.live = entries.length;
    this.countedAs = entries.length;
    this.#calledAt = now;
    this.predictedMs = around.predict(cost);
    this.waitMs = around.services.recorder.batchStarted(entries, reason, cost, now);
  }

  get id(): string {
    const { services, random } = this.#around;
    return `${services.options.name}-${Math.floor(random * 2 ** 32).toString(36)}-${this.sequence}`;
  }

  get isOver(): boolean {
    return this.phase === "done";
  }

  get selfCalls(): SelfCalls {
    return this.#around.services.selfCalls;
  }

  /** Starts, with a slot or prepared ahead of one. */
  begin(): void {
    const { observer } = this.#around.services;
    if (observer !== null) this.#watch = observer.started(this, this.entries, this.waitMs);
    this.start();
  }

  /** Opens and calls the handler, repeatedly while it answers at once and a try is left. */
  start(): void {
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

  /** Drops entries whose callers have left or been answered. Returns false if none is left. */
  #keepLive(): boolean {
    // Most batches lose no caller and need no search.
    if (this.live === this.size) return true;
    this.entries = liveOf(this.entries);
    if (this.entries.length > 0) return true;
    this.#goOn();
    return false;
  }

  // Calling.

  #callOnce(): void {
    const { services, stages, owner } = this.#around;
    if (this.failure === null && stages.open === undefined) this.#callLive();
    // Time has passed since the batch was packed. Other due events continue after the call.
    else
      owner.inOneStep(() => {
        services.deadlines.fireDue(services.clock.now());
        this.#calledAt = services.clock.now();
        this.#callLive();
      });
  }

  /** Calls the handler for the entries that still have callers. */
  #callLive(): void {
    if (!this.#keepLive()) return;
    const entries = this.entries;
    this.isPart = entries.length !== this.size;
    const cost = this.isPart ? measureBatch(entries, this.#around.services.options.batchCost) : this.cost;
    // A cost function may have made callers leave.
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
        // It may never settle, so its continuation holds nothing of the callers.
        Promise.resolve(places).then(
          (late) => answer(this, this.entries, number, late, services),
          (error: unknown) => this.refused(number, error),
        );
        return;
      }
    } catch (error) {
      this.refused(number, error);
      return;
    }
    answer(this, this.entries, number, places, services);
  }

  #ask(call: Call, number: number): unknown {
    const { stages } = this.#around;
    const items = itemsOf(this.entries);
    const isStaged = stages.prepare !== undefined || stages.finish !== undefined;
    this.#hasRun = !isStaged;
    const run = isStaged ? () => runStages(this.#around, items, call, number, this) : stages.run;
    if (this.#watch === null) return this.selfCalls.call(this, run, items, call);
    return this.#watch.around(() => this.selfCalls.call(this, run, items, call));
  }

  runs(): void {
    this.#hasRun = true;
  }

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

  /** Gives the batch the slot that it waits for, prepared or pausing. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.phase === "pausing") this.start();
    else if (this.#call !== null) {
      this.#armLimit();
      this.#grant?.();
    }
  }

  releaseSlot(): void {
    if (!this.holdsSlot) return;
    this.holdsSlot = false;
    this.#around.owner.slotReleased();
  }

  #armLimit(): void {
    const { services } = this.#around;
    const { handlerTimeoutMs } = services.options;
    if (handlerTimeoutMs === Infinity) return;
    this.#limit ??= new Timeout(services.deadlines);
    this.#limit.start(handlerTimeoutMs, () => {
      const error = handlerTimeoutError(services.name, handlerTimeoutMs, this.entries.length);
      const late = this.#call;
      this.#measure(services.clock.now());
      this.failure ??= new Recovery(this, this.#around);
      this.failure.giveUp(error, 0, () => late !== null && this.#abort(late, error));
    });
  }

  isPresent(number: number): boolean {
    return this.#call !== null && number === this.#callNumber;
  }

  // Settling. settle.ts gives the answers.

  allArrived(number: number, now: number): void {
    if (!this.isPresent(number)) return;
    this.#measure(now);
    this.#goOn(now);
  }

  refused(number: number, error: unknown): void {
    if (!this.isPresent(number)) return;
    this.#measure(this.#around.services.clock.now());
    this.#failed(error, true);
  }

  /** Ends the current call at this time. */
  #measure(now: number): void {
    const isCalledOff = this.#call !== null && Call.isAborted(this.#call) && !this.#hasRun;
    this.callMs = isCalledOff ? undefined : now - this.#calledAt;
    this.#endCall();
  }

  /** The handler may continue: keeps its requests before their entries are forgotten. */
  #endCall(): void {
    this.#limit?.clear();
    if (this.#call !== null && this.#around.keepsTaken) Call.keepRequests(this.#call);
    this.#call = null;
  }

  #failed(error: unknown, mayHalve: boolean): void {
    this.failure ??= new Recovery(this, this.#around);
    this.failure.failed(error, mayHalve);
  }

  /** Listeners of the signal are the handler's: they run in the async context of the batcher. */
  #abort(call: Call, reason: unknown): void {
    this.#around.services.inContext(() => Call.abort(call, reason));
  }

  /** Continues with the next try, or ends. */
  #goOn(now?: number): void {
    if (this.failure === null) this.end(now);
    else this.failure.next(0, now);
  }

  // Pausing, before a call that recovery.ts has decided on.

  /** The cost of the next call of a batch that pauses; null where no caller is left for it. */
  get nextCost(): number | null {
    const entries = liveOf(this.entries);
    return entries.length === 0 ? null : measureBatch(entries, this.#around.services.options.batchCost);
  }

  /** Submit time of the oldest item without an answer; Infinity if there is none. */
  get oldestAt(): number {
    const live = liveOf(this.#unsettled);
    return live.reduce((oldest, { moment }) => Math.min(oldest, moment.at), Infinity);
  }

  // Done.

  end(now: number = this.#around.services.clock.now()): void {
    if (this.isOver) return;
    this.phase = "done";
    this.selfCalls.ended(this, now - this.startedAt);
    this.#endCall();
    this.failure?.end();
    // A queue may keep entries that were taken out of order, so they drop their callers' values.
    if (this.#around.keepsTaken) for (const entry of this.#taken) entry.forget();
    this.#around.owner.ended(this, now);
    this.entries = [];
    this.#taken = [];
  }

  get itemsCost(): number {
    return measureBatch(this.#taken, "sum");
  }

  /** Notifies the observer and the listeners of "batch" of its end. */
  report(runMs: number): void {
    const { events, clock } = this.#around.services;
    if (this.#watch === null && !events.hears("batch")) return;
    const { id, key, reason, size, cost, predictedMs, waitMs, failure } = this;
    const startedAt = clock.toUserTime(this.startedAt);
    const event = { id, key, reason, size, cost, startedAt, runMs, predictedMs, waitMs, error: failure?.error };
    this.#watch?.ended(event);
    events.emit("batch", event);
  }

  /** Rejects its callers, aborts and ends. */
  close(error: unknown): void {
    failEntries(this.#unsettled, error, "rejected", this, this.#around.services);
    if (this.#call !== null) this.#abort(this.#call, error);
    this.end();
  }

  /** All entries that may have no answer yet. */
  get #unsettled(): readonly Entry[] {
    return [...this.entries, ...(this.failure?.untried ?? [])];
  }

  // Callers, who may leave or be answered in any phase.

  noteSettled(count: number): void {
    this.live -= count;
    if (this.phase === "pausing") this.#around.owner.pausingLeft(count);
  }

  left(entry: Entry, dueAt: number): void {
    if (this.#around.services.clock.now() >= dueAt) {
      this.#expired += 1;
      this.#longestTimeoutMs = Math.max(this.#longestTimeoutMs, dueAt - entry.moment.at);
    }
    this.noteSettled(1);
    if (this.isOver || this.live > 0) return;
    this.wasLeft = true;
    const reason = new DOMException("Every caller of the batch has gone.", "AbortError");
    if (this.#call !== null) this.#abort(this.#call, reason);
    if (!this.holdsSlot) this.end();
  }

  showsTooLong(callMs: number): boolean {
    return 2 * this.#expired >= this.size && 2 * callMs > this.#longestTimeoutMs;
  }

  raise(): void {}
  noteDeadline(): void {}
}
