// When to look again and what to send: all that happens comes together here.
//
// Everything happens on events (a submit, the end of a turn, a batch's end, a caller leaving, one timer), and each
// event comes down to `#pump`: while a slot is free, ask the policy about the lanes that may be ready and send one's
// batch. A batch is closed at the moment a slot takes it, not before, so it grows for as long as the slots are busy.
// Nothing is polled; an idle batcher holds no timer. Users' functions may call back at any moment: what they set in
// motion waits until the step in progress is done (`inOneStep`, and the loop of `#pump`).

import { closedError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchReason } from "../contract/outcome.ts";
import { type Choice, chooseLane } from "../policy/choose-lane.ts";
import { pack, packUntil } from "../policy/pack.ts";
import type { Pick } from "../policy/packer.ts";
import type { Lane } from "../queue/lane.ts";
import { Queue } from "../queue/queue.ts";
import { BatchRun } from "../run/batch-run.ts";
import { captureAsyncContext, type Stages } from "../run/handler.ts";
import type { Run, RunEnd } from "../run/run.ts";
import { RunEnvironment, type RunOwner } from "../run/run-environment.ts";
import { Admission } from "../submit/admission.ts";
import { type Desk, refuse } from "../submit/callers.ts";
import { pressAll } from "../submit/press.ts";
import { watchDeadlines } from "../submit/segment-deadlines.ts";
import { Alarm } from "../time/clock.ts";
import { Turn } from "../time/turn.ts";
import { Slots } from "./slots.ts";

export class Scheduler implements RunOwner {
  readonly #desk: Desk;
  readonly #environment: RunEnvironment;
  readonly #queue: Queue;
  readonly #wake: Alarm;
  readonly #idPrefix: string;
  readonly #slots: Slots;
  readonly #onRest: () => void;
  readonly admission: Admission;
  readonly turn: Turn;
  #options: ResolvedOptions;
  #sequence = 0;
  #isPumping = false;
  #pumpAgain = false;
  #isPaused = false;
  #isDraining = false;

  /** `onRest` is called when, while draining, nothing waits or runs any more. */
  constructor(desk: Desk, stages: Stages, options: ResolvedOptions, onRest: () => void) {
    this.#desk = desk;
    this.#slots = new Slots(stages);
    this.#options = options;
    this.#onRest = onRest;
    this.#environment = new RunEnvironment(desk, stages, captureAsyncContext(), options, this);
    this.#queue = new Queue(options.fairBy !== undefined);
    this.#queue.reshape(options.maxBatchSize, options.maxBatchCost);
    this.turn = new Turn(options.clock, () => this.#pump(true));
    this.admission = new Admission(desk, this.#queue, this.turn, options);
    this.#wake = new Alarm(options.clock, () => this.#pump(true));
    this.#idPrefix = `${options.name}-${Math.floor(options.random() * 2 ** 32).toString(36)}-`;
  }

  get options(): ResolvedOptions {
    return this.#options;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  get oldestAt(): number {
    return this.#queue.oldestAt();
  }

  get running(): readonly Run[] {
    return this.#slots.running;
  }

  get isAtRest(): boolean {
    return this.#queue.size === 0 && this.admission.blocked === 0 && this.running.length === 0;
  }

  flush(): Promise<void> {
    this.admission.settleCounts();
    return new Promise((resolve) => {
      if (this.#queue.flush(resolve) === undefined) resolve();
      else this.#pump(false);
    });
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#reconsider();
  }

  configure(options: ResolvedOptions): void {
    const startsHolding = this.#options.maxWaitMs === 0 && options.maxWaitMs > 0;
    this.#options = options;
    this.admission.configure(options);
    this.#queue.reshape(options.maxBatchSize, options.maxBatchCost);
    this.#slots.grant(options);
    if (startsHolding) pressAll(this.#queue);
    this.#reconsider();
  }

  drain(): void {
    this.#isDraining = true;
    this.admission.settleCounts();
    this.#pump(false);
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
    if (!this.#pumpAgain) return;
    this.#pumpAgain = false;
    this.#pump(false);
  }

  /** Rejects all that waits, and aborts all that runs, with CLOSED. All leave before anyone is told of it. */
  abandon(): void {
    this.admission.settleCounts();
    const now = this.#desk.clock.now();
    const error = closedError();
    this.inOneStep(() => {
      const left = this.#queue.clear();
      for (const last of [...left, ...this.admission.clear()]) refuse(this.#desk, last, error, "rejected");
      for (const run of this.running.slice()) run.close(now);
    });
    this.drain();
  }

  /** Runs the handler's own `close`. */
  closeHandler(): Promise<void> {
    this.#wake.clear();
    this.admission.release();
    return this.#environment.close();
  }

  slotReleased(): void {
    this.#slots.release();
    this.#slotFreed();
  }

  ended(run: Run, end: RunEnd, now: number): void {
    this.#slots.remove(run);
    const { start, size } = run;
    const { tally, events } = this.#desk;
    tally.batchEnded(size, end.runMs, now);
    if (events.hears("batch")) {
      const { key, reason, cost, startedAt } = start;
      events.emit("batch", { id: run.id, key, reason, size, cost, startedAt, ...end });
    }
    this.#queue.batchEnded(start.flushes);
    this.#slotFreed();
  }

  /** Full batches go at once, the others at the end of the turn: those just answered may submit again in it. */
  #slotFreed(): void {
    this.#slots.grant(this.#options);
    if (!this.#keepsForTurn) this.#pump(false);
    if (this.#queue.size > 0 && this.#slots.mayStart(this.#options)) this.turn.time();
  }

  /** True when what waits is certain to wait for the end of the turn: a look at it now would only keep callers waiting. */
  get #keepsForTurn(): boolean {
    const { size, isFlushing } = this.#queue;
    const { maxBatchSize, maxBatchCost, maxQueueSize } = this.#options;
    const mayBeFull = size >= Math.min(maxBatchSize, maxQueueSize) || maxBatchCost < Number.POSITIVE_INFINITY;
    if (size === 0 || mayBeFull || isFlushing || this.admission.blocked > 0 || this.#isDraining) return false;
    return this.#slots.mayStart(this.#options);
  }

  /** Looks at every lane again at the end of the turn. */
  #reconsider(): void {
    for (const lane of this.#queue.lanes()) this.#queue.hot.add(lane);
    this.turn.time();
  }

  #pump(isTurnOver: boolean): void {
    if (this.#isPumping) {
      this.#pumpAgain = true;
      return;
    }
    this.#isPumping = true;
    try {
      do {
        this.#pumpAgain = false;
        this.#sendBatches(isTurnOver);
      } while (this.#pumpAgain);
    } finally {
      this.#isPumping = false;
    }
    this.admission.announce();
    this.#desk.tally.catchUp();
    if (this.#isDraining && this.isAtRest) this.#onRest();
  }

  #sendBatches(isTurnOver: boolean): void {
    for (;;) {
      this.admission.settleCounts();
      this.admission.admit();
      if (!this.#slots.mayStart(this.#options)) break;
      const now = this.#desk.clock.now();
      this.#desk.agenda.ringDue(now);
      this.admission.admit();
      this.admission.settleCounts();
      if (this.#queue.size === 0) break;
      const { departures } = this.#queue;
      const choice = this.#choose(now, isTurnOver && !this.turn.isOpen);
      if (choice.lane === null) {
        this.#wake.set(choice.wakeAt, now);
        return;
      }
      const pick = this.#pack(choice.lane, now);
      // A cost function may have paused the batcher, or sent callers away who are in the pick.
      if (pick.count > 0 && this.#queue.departures === departures) this.#send(pick, choice.lane, choice.reason, now);
    }
    this.#wake.clear();
  }

  #choose(now: number, isTurnOver: boolean): Choice {
    const { minBatchSize, maxWaitMs, maxQueueSize } = this.#options;
    const state = {
      minBatchSize,
      maxWaitMs,
      isQueueFull: this.#queue.size >= maxQueueSize,
      isDraining: this.#isDraining,
      isPaused: this.#isPaused,
      isTurnOver,
    };
    return chooseLane(this.#queue, this.#options, state, now);
  }

  /** While paused a flush may send what it covers and no more. */
  get #isFlushOnly(): boolean {
    return this.#isPaused && !this.#isDraining;
  }

  #pack(lane: Lane, now: number): Pick {
    if (this.#isFlushOnly) return packUntil(this.#queue.flushedEpoch, lane.lines, this.#options, now);
    return pack(lane.lines, this.#options, now);
  }

  #send(pick: Pick, lane: Lane, reason: BatchReason, now: number): void {
    const flushes = this.#queue.flushesOf(pick);
    for (const flush of flushes) flush.batchStarted();
    this.#sequence += 1;
    const start = {
      idPrefix: this.#idPrefix,
      sequence: this.#sequence,
      key: lane.key,
      reason: pick.full ?? (this.#isFlushOnly ? "flush" : reason),
      cost: pick.cost,
      startedAt: now,
      flushes,
    };
    const run = new BatchRun(start, this.#environment);
    const segment = this.#queue.take(pick, run);
    watchDeadlines(this.#desk, segment);
    const { moments, live } = segment;
    this.#desk.tally.batchStarted(start.reason, live, start.cost, moments, now);
    run.begin(segment, this.#slots.add(run, this.#options), Math.max(0, now - moments.least()));
  }
}
