// Decides when a batcher looks at its queue and which batch it sends. Every event (a submit, the
// end of a turn or a batch, a caller leaving, one timer) leads to `#pump`: while a slot is free,
// the policy chooses a lane and its batch goes. A batch is closed when a slot takes it, so it grows
// while the slots are busy. Nothing is polled; an idle batcher has no timer. Users' functions may
// call back at any time: the effects wait until the current step is done (`inOneStep`, `#pump`).

import { closedError } from "../contract/errors.ts";
import type { BatchReason } from "../contract/outcome.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { PackedBatch } from "../policy/caps.ts";
import type { Gate } from "../policy/decide.ts";
import type { Queue } from "../queue/queue.ts";
import { Batch } from "../run/batch.ts";
import type { BatchOwner } from "../run/batch-owner.ts";
import { Opening } from "../run/opening.ts";
import type { Admission } from "../submit/admission.ts";
import { refuse } from "../submit/callers.ts";
import type { Services } from "../submit/services.ts";
import type { Turn } from "../time/turn.ts";
import { Gathering } from "./gathering.ts";
import { LimiterGate } from "./limiter-gate.ts";
import { NextBatch } from "./next-batch.ts";
import { Slots } from "./slots.ts";
import { WakeUp, type Woken } from "./wake-up.ts";
import { warnOfDefaultSize } from "./warnings.ts";

export class Scheduler implements BatchOwner<Batch>, Woken {
  readonly services: Services;
  readonly #queue: Queue;
  readonly #turn: Turn;
  readonly #admission: Admission;
  /** Called after each step. */
  onStep: (() => void) | null = null;
  /** Resolvers of `atRest`; null if there are none. */
  #resting: (() => void)[] | null = null;
  /** Null where the handler has neither `open` nor `close`. */
  readonly opening: Opening | null;
  sequence = 0;
  readonly random: number;
  readonly slots: Slots;
  readonly #limiter: LimiterGate | null;
  readonly next: NextBatch;
  /** Made when the queue first waits for more than the end of a turn. */
  #wake: WakeUp | null = null;
  readonly #gathering: Gathering = new Gathering();
  /** Made with the first step. */
  #sendAll: (() => void) | null = null;
  /** The gate of the current event. */
  #gate: Gate = "open";
  #isPumping = false;
  #pumpAgain = false;

  constructor(services: Services, admission: Admission) {
    const { options, stages, queue } = services;
    this.services = services;
    services.scheduler = this;
    const isOpened = stages.open !== undefined || stages.close !== undefined;
    this.opening = isOpened ? new Opening(services) : null;
    this.#queue = queue;
    this.#turn = services.turn;
    this.#admission = admission;
    const drawn: unknown = options.random();
    ignoreIfPromise(drawn);
    this.random = typeof drawn === "number" ? drawn : Number.NaN;
    this.slots = new Slots(services);
    this.#limiter =
      options.limiter === undefined ? null : new LimiterGate(options.limiter, services, () => this.again());
    this.next = new NextBatch(services, this.slots, admission, this.#limiter);
    this.#queue.keepDeadlines(options.maxWaitMs > 0);
  }

  /** See `WatchesSlots`. */
  get slotWaitMs(): number {
    if (this.#queue.size === 0 || this.slots.isFree) return -Infinity;
    const now = this.services.clock.now();
    const choice = this.services.inContext(() => this.next.lane("open", now));
    return now - (choice.lane === null ? choice.wakeAt : this.#queue.oldestAt());
  }

  /** Call at the end of a turn in which something happened. */
  turnEnded(): void {
    this.#gathering.turnEnded();
    const gate = this.#gathering.gate(this.services.options, "open");
    if (gate === "pass" && this.#limiter === null && this.services.deadlines.isEmpty && this.next.waitsForGate())
      this.#endStep();
    else this.#pump(gate);
    if (gate === "pass" && this.#queue.size > 0) this.#wakeUp().afterPass();
  }

  /** Sends the waiting items of a key's lane, or of all; calls `done` when they have settled. */
  flush(key: string | undefined, done: () => void): void {
    const pausing = [...this.slots.pausing].filter((batch) => key === undefined || batch.key === key);
    this.#queue.flush(key, this.#turn.endMoment(), pausing, done);
    this.#look();
  }

  /** Looks at everything that waits. */
  again(): void {
    this.#pump("open");
  }

  pause(): void {
    this.next.isPaused = !this.next.isDraining;
    if (this.#limiter !== null) this.#look();
  }

  resume(): void {
    this.next.isPaused = false;
    this.#admission.endRoom();
    this.#reconsider();
  }

  /** Call when the options change. */
  configure(): void {
    this.next.configure();
    this.#queue.keepDeadlines(this.services.options.maxWaitMs > 0);
    this.#reconsider();
  }

  /**
   * While a map is stuck, nothing is held without a bound: the items that would fill the batch may
   * never come.
   */
  noteStuckMap(isStuck: boolean): void {
    this.next.stuckMaps += isStuck ? 1 : -1;
    if (this.services.options.maxWaitMs === Infinity) this.#reconsider();
  }

  drain(): void {
    this.next.isDraining = true;
    this.next.isPaused = false;
    this.#look();
  }

  /** Rejects all items, and aborts all batches. Items leave before any rejects. */
  abandon(): void {
    const { name, pending, clock } = this.services;
    const error = closedError(name);
    const now = clock.now();
    this.inOneStep(() => {
      const waiting = [...this.#queue.clear(), ...this.#admission.clear(), ...pending.clear()];
      for (const entry of waiting) refuse(this.services, entry, error, "rejected", now);
      for (const batch of [...this.slots.running, ...this.slots.pausing]) batch.close(error, now);
    });
    this.drain();
  }

  close(): void {
    this.#wake?.clear();
    this.#limiter?.close();
  }

  /** Runs work in which callers leave: their room is used only after all have left and settled. */
  inOneStep(work: () => void): void {
    if (this.#isPumping) {
      work();
      return;
    }
    this.#isPumping = true;
    try {
      work();
    } finally {
      this.#isPumping = false;
    }
    if (this.#pumpAgain) this.#look();
  }

  slotReleased(): void {
    this.slots.release();
    this.#slotFreed();
  }

  paused(batch: Batch, isDue: boolean): void {
    this.slots.pause(batch);
    if (isDue) this.slots.enqueue(batch);
    this.services.recorder.runs(this.slots.running.length > 0, this.services.clock.now());
    this.#admission.noteRetrying(batch.live);
    this.#slotFreed();
  }

  pausingLeft(count: number): void {
    this.#admission.noteRetrying(-count);
  }

  wantsSlot(batch: Batch): void {
    this.slots.enqueue(batch);
    this.#look();
  }

  ended(batch: Batch, now: number): void {
    const { recorder } = this.services;
    const runMs = now - batch.startedAt;
    this.slots.remove(batch);
    recorder.runs(this.slots.running.length > 0, now);
    recorder.batchEnded(runMs);
    this.next.record(batch, batch.callMs);
    this.#gathering.ended(batch, runMs);
    batch.report(runMs);
    for (const flush of batch.flushes) flush.release();
    this.#slotFreed();
  }

  /** Full batches go now, others at the turn's end: answered callers may submit in this turn. */
  #slotFreed(): void {
    if (!this.next.waitsForGate()) this.#look();
    // A step in progress has yet to give slots to the batches that wait for one.
    const mayStart = this.#isPumping || this.slots.mayStart;
    if (mayStart && this.#queue.size > 0) this.#turn.lookAgain();
  }

  /** Looks at every lane again at the end of the turn. */
  #reconsider(): void {
    for (const lane of this.#queue.lanes()) this.#queue.markHot(lane);
    this.#turn.lookAgain();
  }

  /** Looks at the queue at an event that may come in the middle of a turn. */
  #look(): void {
    this.#pump(null);
  }

  /** `gate`: null where the gathering decides, in the middle of a turn. */
  #pump(gate: Gate | null): void {
    if (this.#isPumping) {
      this.#pumpAgain = true;
      return;
    }
    // Releasing a limiter calls a user's function, which may call back.
    if (this.#limiter !== null || !this.#rests()) {
      this.#gate = gate ?? this.#gathering.gate(this.services.options, "turn");
      this.#isPumping = true;
      try {
        this.#sendAll ??= () => {
          do {
            this.#pumpAgain = false;
            while (this.#sendNext() && !this.#rests());
          } while (this.#pumpAgain);
        };
        this.services.inContext(this.#sendAll);
      } finally {
        this.#isPumping = false;
      }
    }
    this.#endStep();
  }

  /** Call after each step. */
  #endStep(): void {
    this.#admission.announce();
    this.onStep?.();
    const resting = this.#resting;
    if (resting === null || !this.isAtRest) return;
    this.#resting = null;
    for (const resolve of resting) resolve();
  }

  /** True if no item waits, runs, or is looked up or prepared. */
  get isAtRest(): boolean {
    return this.#queue.size + this.#admission.blocked + this.services.pending.size === 0 && !this.slots.isBusy;
  }

  /** Resolves after the next step that leaves the batcher at rest. */
  atRest(): Promise<void> {
    return new Promise((resolve) => {
      this.#resting ??= [];
      this.#resting.push(resolve);
    });
  }

  /** Sends one batch, if one may go. True if another may follow. May open a turn. */
  #sendNext(): boolean {
    const now = this.services.clock.now();
    this.services.deadlines.fireDue(now);
    // A batch that calls again makes room in the queue.
    this.#grantSlots();
    this.#admitBlocked();
    if (!this.#mayClose()) return this.#waitForEvent();
    const lateAt = this.next.target?.shed(now) ?? Infinity;
    const notBefore = this.#notBefore();
    if (notBefore > now) {
      this.#wakeUp().set(Math.min(notBefore, lateAt), now);
      return false;
    }
    const gate = this.#turn.isOpen ? "turn" : this.#gate;
    const plain = this.next.plain();
    if (plain !== null) {
      if (plain.full === null && gate !== "open") return false;
      this.#send(plain, plain.full ?? "idle", undefined, now);
      return true;
    }
    const { departures } = this.#queue;
    const choice = this.next.lane(gate, now);
    if (choice.lane === null) {
      this.#limiter?.withdraw();
      if (gate === "open") this.#wakeUp().set(Math.min(choice.wakeAt, lateAt), now);
      return false;
    }
    const { isPaused } = this.next;
    const batch = this.next.pack(choice.lane, now);
    if (batch === null) return this.#waitForEvent();
    this.services.signals?.sendAway(batch.entries);
    // A cost function may have paused the batcher, or callers of the batch may have left.
    const isStale = this.#queue.departures !== departures || this.next.isPaused !== isPaused;
    if (isStale) return true;
    if (batch.entries.length === 0) return this.#waitForEvent();
    this.#send(batch, batch.full ?? (isPaused ? "flush" : choice.reason), choice.lane.key, now);
    return true;
  }

  /** The time before which no batch starts; 0 if there is none. */
  #notBefore(): number {
    const mustGo = this.next.isDraining || this.next.isQueueFull || this.#queue.isFlushed;
    return (!mustGo && this.next.target?.notBefore()) || 0;
  }

  /** True if there is nothing to do. Then it waits for an event. */
  #rests(): boolean {
    if (!this.services.deadlines.isEmpty || this.#admission.blocked > 0) return false;
    if (this.slots.next !== undefined || this.#mayClose()) return false;
    this.#waitForEvent();
    return true;
  }

  /**
   * Waits for an event, or for the next item that cannot meet a target. True if there is room now
   * for submits that wait outside.
   */
  #waitForEvent(): boolean {
    const { target } = this.next;
    const { departures, size } = this.#queue;
    const now = target === null || size === 0 ? 0 : this.services.clock.now();
    const lateAt = (size > 0 && target?.shed(now)) || Infinity;
    if (lateAt < Infinity) this.#wakeUp().set(lateAt, now);
    else this.#wake?.clear();
    return this.#queue.departures > departures && this.#admission.blocked > 0;
  }

  #wakeUp(): WakeUp {
    this.#wake ??= new WakeUp(this, this.services, this.next);
    return this.#wake;
  }

  /** True if an item waits and a slot can take it. If not, withdraws from the limiter. */
  #mayClose(): boolean {
    if (this.#queue.size === 0 && this.#limiter === null) return false;
    const mayStart = this.slots.mayStart;
    if (mayStart && this.#queue.size > 0) return true;
    if (mayStart || !this.slots.isFree) this.#limiter?.withdraw();
    return false;
  }

  /** Lets blocked submits in; if nothing has gathered, they are seen at the end of the turn. */
  #admitBlocked(): void {
    const { size } = this.#queue;
    this.#admission.admit();
    if (this.#gate !== "open" && this.#queue.size > size) this.#turn.lookAgain();
  }

  /** Gives free slots to waiting batches; a repeated call also needs a limiter's grant. */
  #grantSlots(): void {
    for (let batch = this.slots.next; batch !== undefined; batch = this.slots.next) {
      if (!this.slots.isFree) return;
      if (batch.phase === "pausing") {
        const cost = this.#limiter === null ? null : batch.nextCost;
        // A cost function may have removed its callers.
        if (this.slots.next !== batch) continue;
        if (this.#limiter !== null && cost !== null) {
          if (this.#limiter.ask(cost, true) === null) return;
          this.#limiter.use(cost);
        }
        this.#admission.noteRetrying(-batch.live);
        this.services.recorder.runs(true, this.services.clock.now());
      }
      this.slots.grant();
    }
  }

  #send(packed: PackedBatch, reason: BatchReason, key: string | undefined, now: number): void {
    const batch = new Batch(packed, reason, key, now, this);
    batch.predictedMs = this.next.target?.predict(packed.cost) ?? null;
    batch.flushes = this.#queue.take(packed.entries, batch);
    batch.holdsSlot = this.slots.add(batch);
    this.#limiter?.use(packed.cost);
    batch.begin();
    if (batch.phase !== "done") this.#gathering.began(batch, this.services.options);
    // A listener may call anything.
    if (reason === "size") warnOfDefaultSize(batch.cost, this.services);
  }
}
