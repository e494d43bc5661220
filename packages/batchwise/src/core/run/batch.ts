// The life of one batch after it leaves the queue, in the order of its phases: it opens the
// handler, calls it, and settles its callers (call.ts). After a failed call it pauses and calls
// again, as Recovery decides, until every caller has an answer. It holds a slot while the handler
// works, but not in a pause. Callers may leave at any moment; the last one aborts the signal of the
// call.

import type { BatchWatch } from "../contract/observer.ts";
import type { BatchReason } from "../contract/outcome.ts";
import { measureBatch } from "../policy/batch-cost.ts";
import type { PackedBatch } from "../policy/caps.ts";
import type { EndedBatch } from "../policy/packer.ts";
import { type Entry, type EntryHolder, liveOf } from "../queue/entry.ts";
import { type Flush, NO_FLUSHES } from "../queue/flush.ts";
import type { SelfCalls } from "../submit/self-calls.ts";
import type { BatchOwner } from "./batch-owner.ts";
import { type CalledBatch, HandlerCall } from "./call.ts";
import { failEntries } from "./places.ts";
import { type RecoveringBatch, Recovery } from "./recovery.ts";

const NO_ENTRIES: readonly Entry[] = [];

export class Batch implements EntryHolder, EndedBatch, CalledBatch, RecoveringBatch {
  readonly #owner: BatchOwner<Batch>;
  phase: "starting" | "opening" | "calling" | "pausing" | "done" = "starting";
  readonly sequence: number;
  readonly key: string | undefined;
  readonly reason: BatchReason;
  readonly size: number;
  readonly cost: number;
  readonly startedAt: number;
  /** Wait of its oldest item, in ms. */
  readonly waitMs: number;
  /** See `BatchEvent`. */
  predictedMs: number | null = null;
  /** All entries that it was made of. */
  #taken: readonly Entry[];
  /** The entries of the current call, or of the next one. */
  entries: readonly Entry[];
  /** Number of callers without an answer, in all halves. */
  live: number;
  /** The flushes that wait for it. */
  flushes: readonly Flush[] = NO_FLUSHES;
  watch: BatchWatch | null = null;

  holdsSlot = false;
  isFollowed = false;
  /** Its index among the running batches; see slots.ts. */
  slotIndex = 0;
  /** The turn in which it began, if that is watched; see gathering.ts. */
  turn: object | null = null;

  call: HandlerCall | null = null;
  calls = 0;
  #isCalling = false;
  #callsAgain = false;
  /** Its failures and untried halves; null until a call fails. */
  failure: Recovery<Batch> | null = null;

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
    owner: BatchOwner<Batch>,
  ) {
    this.#owner = owner;
    owner.sequence += 1;
    this.sequence = owner.sequence;
    this.key = key;
    this.reason = reason;
    this.size = entries.length;
    this.cost = cost;
    this.startedAt = now;
    this.#taken = entries;
    this.entries = entries;
    this.live = entries.length;
    this.waitMs = owner.services.recorder.batchStarted(entries, reason, cost, now);
  }

  get isWaiting(): boolean {
    return false;
  }

  get id(): string {
    const { services, random } = this.#owner;
    return `${services.options.name}-${Math.floor(random * 2 ** 32).toString(36)}-${this.sequence}`;
  }

  get isOver(): boolean {
    return this.phase === "done";
  }

  get selfCalls(): SelfCalls {
    return this.#owner.services.selfCalls;
  }

  /** Starts, with a slot or prepared ahead of one. */
  begin(): void {
    const { observer } = this.#owner.services;
    if (observer !== null) this.watch = observer.started(this, this.entries, this.waitMs);
    this.start();
  }

  /** Opens and calls the handler, repeatedly while it answers at once and a try is left. */
  start(): void {
    this.#callsAgain = true;
    if (this.#isCalling) return;
    this.#isCalling = true;
    while (this.#callsAgain) {
      this.#callsAgain = false;
      this.#open();
    }
    this.#isCalling = false;
  }

  // Opening.

  #open(): void {
    this.phase = "opening";
    if (!this.#keepLive()) return;
    const opening = this.#owner.opening?.begin();
    if (opening === undefined) this.#callOnce();
    else
      opening.then(
        () => this.isOver || this.#callOnce(),
        (error: unknown) => this.isOver || this.#recovery().failed(error, false),
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
    const { services } = this.#owner;
    if (this.failure === null && services.stages.open === undefined) this.#callLive(this.startedAt);
    // Time has passed since the batch was packed. Other due events continue after the call.
    else
      this.#owner.inOneStep(() => {
        services.deadlines.fireDue(services.clock.now());
        this.#callLive(services.clock.now());
      });
  }

  /** Calls the handler for the entries that still have callers. */
  #callLive(now: number): void {
    if (!this.#keepLive()) return;
    const entries = this.entries;
    this.isPart = entries.length !== this.size;
    const cost = this.isPart ? measureBatch(entries, this.#owner.services.options.batchCost) : this.cost;
    // A cost function may have made callers leave.
    if (this.isPart && liveOf(entries) !== entries) {
      this.#callLive(now);
      return;
    }
    this.phase = "calling";
    HandlerCall.make(new HandlerCall(this, entries, cost, now, this.#owner.services));
  }

  /** Gives the batch the slot that it waits for, prepared or pausing. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.phase === "pausing") this.start();
    else if (this.call !== null) HandlerCall.granted(this.call);
  }

  releaseSlot(): void {
    if (!this.holdsSlot) return;
    this.holdsSlot = false;
    this.#owner.slotReleased();
  }

  // After a call.

  answered(now: number): void {
    this.#endCall(now);
    this.#goOn(now);
  }

  refused(error: unknown): void {
    this.#endCall(this.#owner.services.clock.now());
    this.#recovery().failed(error, true);
  }

  timedOut(error: unknown): void {
    const { call } = this;
    this.#endCall(this.#owner.services.clock.now());
    const recovery = this.#recovery();
    // First, so that the signal's listeners find no caller and no equal item in flight.
    recovery.reject(error);
    this.#abort(call, error);
    recovery.next(0);
  }

  #endCall(now: number): void {
    const call = this.call as HandlerCall;
    this.callMs = HandlerCall.durationMs(call, now);
    HandlerCall.end(call);
  }

  #recovery(): Recovery<Batch> {
    this.failure ??= new Recovery(this, this.#owner);
    return this.failure;
  }

  /** Listeners of the signal are the handler's: they run in the async context of the batcher. */
  #abort(call: HandlerCall | null, reason: unknown): void {
    if (call !== null) this.#owner.services.inContext(() => HandlerCall.abort(call, reason));
  }

  /** Continues with the next try, or ends. */
  #goOn(now?: number): void {
    if (this.failure === null) this.end(now);
    else this.failure.next(0, now);
  }

  // Pausing, before a call that recovery.ts has decided on.

  /** The cost of the next call of a batch that pauses; null if no caller is left. */
  get nextCost(): number | null {
    const entries = liveOf(this.entries);
    return entries.length === 0 ? null : measureBatch(entries, this.#owner.services.options.batchCost);
  }

  /** Submit time of the oldest item without an answer; Infinity if there is none. */
  get oldestAt(): number {
    const live = liveOf(this.#unsettled);
    return live.reduce((oldest, { moment }) => Math.min(oldest, moment.at), Infinity);
  }

  // Done.

  end(now: number = this.#owner.services.clock.now()): void {
    // The observer's callback may have made all callers leave: then `begin` ends it.
    if (this.phase === "starting" || this.isOver) return;
    this.phase = "done";
    this.selfCalls.ended(this, now - this.startedAt);
    if (this.call !== null) HandlerCall.end(this.call);
    this.failure?.end();
    // Equal callers may keep entries for a while, so these drop their callers' values.
    if (this.#owner.services.options.dedupe !== undefined) for (const entry of this.#taken) entry.forget();
    this.#owner.ended(this, now);
    this.entries = NO_ENTRIES;
    this.#taken = NO_ENTRIES;
  }

  get itemsCost(): number {
    return measureBatch(this.#taken, "sum");
  }

  /** Notifies the observer and the listeners of "batch" of its end. */
  report(runMs: number): void {
    const { events, clock } = this.#owner.services;
    if (this.watch === null && !events.hears("batch")) return;
    const { id, key, reason, size, cost, predictedMs, waitMs, failure } = this;
    const startedAt = clock.toUserTime(this.startedAt);
    const event = { id, key, reason, size, cost, startedAt, runMs, predictedMs, waitMs, error: failure?.error };
    this.watch?.ended(event);
    events.emit("batch", event);
  }

  /** Rejects its callers, aborts and ends. */
  close(error: unknown, now: number): void {
    failEntries(this.#unsettled, error, "rejected", this, this.#owner.services, now);
    this.#abort(this.call, error);
    this.end(now);
  }

  /** All entries that may have no answer yet. */
  get #unsettled(): readonly Entry[] {
    return [...this.entries, ...(this.failure?.untried ?? [])];
  }

  // Callers, who may leave or be answered in any phase.

  noteSettled(count: number): void {
    this.live -= count;
    if (this.phase === "pausing") this.#owner.pausingLeft(count);
  }

  left(entry: Entry, dueAt: number): void {
    if (this.#owner.services.clock.now() >= dueAt) {
      this.#expired += 1;
      this.#longestTimeoutMs = Math.max(this.#longestTimeoutMs, dueAt - entry.moment.at);
    }
    this.noteSettled(1);
    if (this.isOver || this.live > 0) return;
    this.wasLeft = true;
    const reason = new DOMException("Every caller of the batch has gone.", "AbortError");
    this.#abort(this.call, reason);
    if (!this.holdsSlot) this.end();
  }

  showsTooLong(callMs: number): boolean {
    return 2 * this.#expired >= this.size && 2 * callMs > this.#longestTimeoutMs;
  }

  update(): void {}
}
