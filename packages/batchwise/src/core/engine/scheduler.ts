// Decides when a batcher looks at its queue again and which batch it sends.
// Everything happens on events (a submit, the end of a turn, a batch's end, a caller leaving, one timer), and each event
// comes down to `#pump`: while a slot is free, ask the policy about the lanes that may be ready and send one's batch. A
// batch is closed at the moment a slot takes it, not before, so it grows for as long as the slots are busy. Nothing is
// polled; an idle batcher holds no timer. Users' functions may call back at any moment: what they set in motion waits
// until the step in progress is done (`inOneStep`, and the loop of `#pump`).

import { closedError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { PreparedOptions } from "../contract/resolve-options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { PackedBatch } from "../policy/caps.ts";
import type { Gate } from "../policy/decide.ts";
import type { MakePacker } from "../policy/packer.ts";
import type { Entry, EntryHolder } from "../queue/entry.ts";
import type { Queue } from "../queue/queue.ts";
import { Batch } from "../run/batch.ts";
import type { Stages } from "../run/handler.ts";
import type { Opening } from "../run/opening.ts";
import type { BatchOwner, BatchSurroundings } from "../run/surroundings.ts";
import type { Admission } from "../submit/admission.ts";
import { refuse } from "../submit/callers.ts";
import type { SelfCalls } from "../submit/self-calls.ts";
import type { Services } from "../submit/services.ts";
import type { InContext } from "../time/clock.ts";
import type { Turn } from "../time/turn.ts";
import { Gathering } from "./gathering.ts";
import { LimiterGate } from "./limiter-gate.ts";
import { NextBatch } from "./next-batch.ts";
import { Slots } from "./slots.ts";
import { WakeUp } from "./wake-up.ts";
import { warnOfDefaultSize, warnOfHeldItems } from "./warnings.ts";

/** What the scheduler works with. */
export interface SchedulerParts {
  readonly services: Services;
  readonly queue: Queue;
  readonly admission: Admission;
  readonly stages: Stages;
  readonly opening: Opening | null;
  readonly inContext: InContext;
  readonly selfCalls: SelfCalls;
  readonly makePacker: MakePacker;
  /** Called after each step, which may leave the batcher at rest. */
  readonly onStep: () => void;
}

/** The holder of entries that have left the queue and do not return. */
const NOWHERE: EntryHolder = { isWaiting: false, left: () => {}, raise: () => {}, noteDeadline: () => {} };

export class Scheduler implements BatchOwner<Batch> {
  readonly #services: Services;
  readonly #queue: Queue;
  readonly #turn: Turn;
  readonly #admission: Admission;
  readonly #inContext: InContext;
  readonly #onStep: () => void;
  readonly #prepared: PreparedOptions;
  readonly #around: BatchSurroundings<Batch>;
  readonly slots: Slots;
  readonly #limiter: LimiterGate | null;
  readonly next: NextBatch;
  readonly #again: () => void = () => this.#pump("open");
  readonly #wake: WakeUp;
  readonly #gathering: Gathering;
  #options: ResolvedOptions;
  readonly #sendAll: () => void = () => {
    do {
      this.#pumpAgain = false;
      while (this.#sendNext());
    } while (this.#pumpAgain);
  };
  /** Of the event that is looked at. */
  #gate: Gate = "open";
  #isPumping = false;
  #pumpAgain = false;
  #hasWarnedOfPause = false;
  #hasWarnedOfSize = false;

  constructor(parts: SchedulerParts, prepared: PreparedOptions) {
    const { services, stages, opening, inContext, selfCalls } = parts;
    const { options } = prepared;
    this.#services = services;
    this.#queue = parts.queue;
    this.#turn = services.turn;
    this.#admission = parts.admission;
    this.#inContext = inContext;
    this.#onStep = parts.onStep;
    this.#options = options;
    this.#prepared = prepared;
    const keepsTaken = options.order === "length" || options.dedupe !== undefined;
    const drawn: unknown = options.random();
    ignoreIfPromise(drawn);
    const random = typeof drawn === "number" ? drawn : Number.NaN;
    this.#around = {
      services,
      stages,
      opening,
      inContext,
      selfCalls,
      owner: this,
      keepsTaken,
      options,
      sequence: 0,
      random,
    };
    this.slots = new Slots(stages);
    this.#limiter = options.limiter === undefined ? null : new LimiterGate(options.limiter, services, this.#again);
    this.next = new NextBatch(parts.queue, parts.admission, parts.makePacker, this.#limiter, options);
    this.#gathering = new Gathering(services.clock, () => {
      this.#pump("open");
      return this.#queue.size > 0;
    });
    this.#wake = new WakeUp(services.clock, this.#again, () => this.#sendHeld());
    this.#queue.keepDeadlines(options.maxWaitMs > 0);
  }

  /** See `WatchesSlots`. */
  get slotWaitMs(): number {
    if (this.#queue.size === 0 || this.slots.isFree(this.#options)) return -Infinity;
    const now = this.#services.clock.now();
    const choice = this.#inContext(() => this.next.lane("open", Infinity, now));
    return now - (choice.lane === null ? choice.wakeAt : this.#queue.oldestAt());
  }

  /** To be called at the end of a turn in which something happened. */
  turnEnded(): void {
    this.#gathering.turnEnded();
    const gate = this.#gathering.gateAfter(this.#options);
    if (
      gate === "pass" &&
      this.#limiter === null &&
      this.#services.deadlines.isEmpty &&
      this.next.waitsForGate(this.slots)
    )
      this.#endStep();
    else this.#pump(gate);
    if (gate === "pass" && this.#queue.size > 0) this.#gathering.waitForPass(this.#options);
  }

  /** Sends what waits in the lane of a key, or in all; `done` is called when all of it has settled. */
  flush(key: string | undefined, done: () => void): void {
    const pausing = [...this.slots.pausing].filter((batch) => key === undefined || batch.key === key);
    this.#queue.flush(key, this.#turn.endMoment(), pausing, done);
    this.#look();
  }

  pause(): void {
    this.next.isPaused = true;
    if (this.#limiter !== null) this.#look();
  }

  resume(): void {
    this.next.isPaused = false;
    this.#reconsider();
  }

  configure(options: ResolvedOptions): void {
    this.#options = options;
    this.next.configure(options);
    this.#queue.keepDeadlines(options.maxWaitMs > 0);
    this.#reconsider();
  }

  drain(): void {
    this.next.isDraining = true;
    this.#look();
  }

  /** Rejects these and all that waits, and aborts all that runs, with CLOSED. All leave before anyone is told of it. */
  abandon(pending: readonly Entry[]): void {
    const error = closedError(this.#services.name);
    this.inOneStep(() => {
      const waiting = [...this.#queue.clear(NOWHERE), ...this.#admission.clear(), ...pending];
      for (const entry of waiting) refuse(this.#services, entry, error, "rejected");
      for (const batch of [...this.slots.running, ...this.slots.pausing]) batch.close(error);
    });
    this.drain();
  }

  close(): void {
    this.#wake.clear();
    this.#limiter?.close();
  }

  /** Runs work in which callers leave: the room that they make is not used before all have left and been told. */
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
    this.#services.recorder.rests(batch.countedAs, this.#services.clock.now());
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
    const { recorder } = this.#services;
    const runMs = now - batch.startedAt;
    if (this.slots.remove(batch)) recorder.rests(batch.countedAs, now);
    recorder.batchEnded(runMs);
    this.next.record(batch, batch.callMs);
    this.#gathering.ended(batch);
    batch.report(runMs);
    this.#queue.flushes.batchEnded(batch.key, batch.flushes);
    this.#slotFreed();
  }

  /** Full batches go at once, the others at the end of the turn: those just answered may submit again in it. */
  #slotFreed(): void {
    if (!this.next.waitsForGate(this.slots)) this.#look();
    // A step in progress has yet to give slots to the batches that wait for one.
    const mayStart = this.#isPumping || this.slots.mayStart(this.#options);
    if (mayStart && this.#queue.size > 0) this.#turn.lookAgain();
  }

  /** Looks at every lane again at the end of the turn. */
  #reconsider(): void {
    for (const lane of this.#queue.lanes()) this.#queue.markHot(lane);
    this.#turn.lookAgain();
  }

  /** Looks at what waits at an event that may come in the middle of a turn. */
  #look(): void {
    this.#pump(this.#gathering.gateBefore(this.#options));
  }

  #pump(gate: Gate): void {
    if (this.#isPumping) {
      this.#pumpAgain = true;
      return;
    }
    // A limiter that is not needed any more is the user's, and may call back.
    if (this.#limiter === null && this.#hasNothingToDo()) {
      this.#wake.clear();
    } else {
      this.#gate = gate;
      this.#isPumping = true;
      try {
        this.#inContext(this.#sendAll);
      } finally {
        this.#isPumping = false;
      }
    }
    this.#endStep();
  }

  /** To be called after each step. */
  #endStep(): void {
    this.#admission.announce();
    this.#onStep();
  }

  /** Sends one batch, if one may go. True when there may be another. A user's function may open a turn at any moment. */
  #sendNext(): boolean {
    if (this.#hasNothingToDo()) return this.#waitForEvent();
    const now = this.#services.clock.now();
    this.#services.deadlines.fireDue(now);
    // A batch that calls again makes room in the queue.
    this.#grantSlots();
    this.#admitBlocked();
    if (!this.#mayClose()) return this.#waitForEvent();
    const gate = this.#turn.isOpen ? "turn" : this.#gate;
    const plain = gate === "open" ? this.next.plain() : null;
    if (plain !== null) {
      this.#send(plain, plain.full ?? "idle", undefined, now);
      return true;
    }
    const { departures } = this.#queue;
    const choice = this.next.lane(gate, this.#gathering.passedAt, now);
    for (const lane of choice.notReady) this.#queue.markCold(lane);
    if (choice.lane === null) {
      this.#limiter?.withdraw();
      if (gate === "open") this.#wake.set(choice.wakeAt, now, this.#isHeld());
      return false;
    }
    const { isFlushOnly } = this.next;
    const batch = this.next.pack(choice.lane, this.slots.free(this.#options), now);
    if (batch === null) return this.#waitForEvent();
    this.#services.signals.sendAway(batch.entries);
    // A cost function may have paused the batcher; it or a signal may have sent callers away who are in the batch.
    const isStale = this.#queue.departures !== departures || this.next.isFlushOnly !== isFlushOnly;
    if (isStale) return true;
    if (batch.entries.length === 0) return this.#waitForEvent();
    this.#send(batch, batch.full ?? (isFlushOnly ? "flush" : choice.reason), choice.lane.key, now);
    return true;
  }

  /** True where only a flush, `close()` or another submit sends what waits. */
  #isHeld(): boolean {
    return this.#queue.size > 0 && (this.#options.maxWaitMs === Infinity || this.next.isFlushOnly);
  }

  /** True when it need not even read the time. Then nothing is asked of the limiter any more. */
  #hasNothingToDo(): boolean {
    if (!this.#services.deadlines.isEmpty || this.#admission.blocked > 0) return false;
    return this.slots.next === undefined && !this.#mayClose();
  }

  /** Nothing is to be done at a time of its own. */
  #waitForEvent(): false {
    this.#wake.clear();
    return false;
  }

  /** The process is about to end: sends what only a `flush()` or `close()` would, unless it is paused. */
  #sendHeld(): void {
    const isPaused = this.next.isFlushOnly;
    if (isPaused && this.#hasWarnedOfPause) return;
    this.#hasWarnedOfPause = isPaused;
    warnOfHeldItems(this.#queue.size, isPaused, this.#services.events);
    if (!isPaused) this.flush(undefined, () => {});
    // Answers that need no event loop may bring more items to hold, and the warning waits: the process looks once more.
    setTimeout(() => {}, 0);
  }

  /** True when something waits and a slot can take it. Otherwise there is nothing to ask the limiter for. */
  #mayClose(): boolean {
    const mayStart = this.slots.mayStart(this.#options);
    if (mayStart && this.#queue.size > 0) return true;
    if (mayStart || !this.slots.isFree(this.#options)) this.#limiter?.withdraw();
    return false;
  }

  /** Lets blocked submits in. Where nobody has gathered yet, they are looked at at the end of the turn. */
  #admitBlocked(): void {
    const { size } = this.#queue;
    this.#admission.admit();
    if (this.#gate !== "open" && this.#queue.size > size) this.#turn.lookAgain();
  }

  /** Gives free slots to batches that wait for one; another call of a batch needs a grant of the limiter, too. */
  #grantSlots(): void {
    for (let batch = this.slots.next; batch !== undefined; batch = this.slots.next) {
      if (!this.slots.isFree(this.#options)) return;
      if (batch.phase === "pausing") {
        const cost = this.#limiter === null ? null : batch.nextCost;
        // A cost function may have sent its callers away.
        if (this.slots.next !== batch) continue;
        if (this.#limiter !== null && cost !== null) {
          if (this.#limiter.ask(cost, true) === null) return;
          this.#limiter.use(cost);
        }
        batch.countedAs = batch.live;
        this.#admission.noteRetrying(-batch.live);
        this.#services.recorder.runs(batch.countedAs, this.#services.clock.now());
      }
      this.slots.grant();
    }
  }

  #send(packed: PackedBatch, reason: BatchReason, key: string | undefined, now: number): void {
    const flushes = this.#queue.flushes.batchStarted(key, packed.entries);
    const batch = new Batch(packed, reason, key, now, this.#around);
    batch.flushes = flushes;
    this.#queue.take(packed, batch);
    batch.holdsSlot = this.slots.add(batch, this.#options);
    this.#limiter?.use(packed.cost);
    batch.begin();
    if (batch.phase !== "done") this.#gathering.began(batch, this.#options);
    this.#warnOfSize(batch);
  }

  /** Warns, once, where the default size has closed a batch that costs little. A listener may do anything. */
  #warnOfSize({ reason, cost }: Batch): void {
    if (reason !== "size" || cost >= this.#options.maxBatchCost / 2 || this.#hasWarnedOfSize) return;
    this.#hasWarnedOfSize = warnOfDefaultSize(this.#prepared, this.#options, this.#services.events);
  }
}
