// What waits, which slots are taken, and when to look again: the engine's one stateful file.
//
// Everything happens on events (a submit, the end of a turn, a batch's end, a caller leaving, one timer), and each
// event comes down to `#pump`: while a slot is free, ask the policy about the most urgent lane and send its batch.
// A batch is closed at the moment a slot takes it, not before, so it grows for as long as the slots are busy.
// Nothing is polled; an idle batcher holds no timer.

import { BatchRun } from "./batch-run.ts";
import { type Desk, PressingTicket, refuse, Ticket } from "./callers.ts";
import { Alarm } from "./clock.ts";
import { Shared } from "./dedupe.ts";
import { type RunEnd, RunEnvironment, type RunOwner } from "./environment.ts";
import { closedError, droppedError, queueFullError } from "./errors.ts";
import { captureAsyncContext, type Stages } from "./handler.ts";
import type { Entry } from "./intake.ts";
import type { Lane } from "./lane.ts";
import type { ResolvedOptions } from "./options.ts";
import { type Full, pack } from "./pack.ts";
import { type BatchReason, decide, type LaneView, type PolicyState } from "./policy.ts";
import { Queue } from "./queue.ts";
import type { Segment, Sink } from "./segment.ts";
import { endOfTurn } from "./turn.ts";
import { WaitingRoom } from "./waiting-room.ts";

interface Choice {
  readonly lane: Lane;
  readonly reason: BatchReason;
}

export class Scheduler implements RunOwner {
  readonly #desk: Desk;
  readonly #stages: Stages;
  readonly #environment: RunEnvironment;
  readonly #queue: Queue;
  readonly #room: WaitingRoom = new WaitingRoom();
  readonly #wake: Alarm;
  readonly #idPrefix: string;
  readonly #running: Set<BatchRun> = new Set();
  /** Batches that were prepared ahead and wait for a slot. */
  readonly #staged: BatchRun[] = [];
  readonly #ready: (() => void)[] = [];
  readonly #onRest: () => void;
  #options: ResolvedOptions;
  #busySlots = 0;
  #sequence = 0;
  #turnIsOpen = false;
  #turnAt = 0;
  #isPumping = false;
  #pumpAgain = false;
  #isPaused = false;
  #isDraining = false;

  /** `onRest` is called when, while draining, nothing waits or runs any more. */
  constructor(desk: Desk, stages: Stages, options: ResolvedOptions, onRest: () => void) {
    this.#desk = desk;
    this.#stages = stages;
    this.#options = options;
    this.#onRest = onRest;
    this.#environment = new RunEnvironment(desk, stages, captureAsyncContext(), options, this);
    this.#queue = new Queue(options.fairBy !== undefined);
    this.#queue.reshape(options.maxBatchSize, options.maxBatchCost);
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

  get running(): ReadonlySet<BatchRun> {
    return this.#running;
  }

  get isAtRest(): boolean {
    return this.#queue.size === 0 && this.#room.size === 0 && this.#running.size === 0;
  }

  get hasRoom(): boolean {
    return this.#room.size === 0 && this.#queue.size < this.#options.maxQueueSize;
  }

  /** The time of the current turn. Opens one, at whose end there will be a decision. */
  turnTime(): number {
    if (!this.#turnIsOpen) {
      this.#turnIsOpen = true;
      this.#turnAt = this.#desk.clock.now();
      endOfTurn(this.#endTurn);
    }
    return this.#turnAt;
  }

  /** Queues an item that has nothing of its own, where there is room: the hot path. */
  acceptPlain(item: unknown, sink: Sink): void {
    const time = this.turnTime();
    this.#queue.plain.push("", item, sink, time, 1, undefined);
    if (this.#options.maxWaitMs > 0) this.#noteHot(this.#queue.plain.lane);
  }

  /** Queues an entry, or does with it what `onFull` says. */
  accept(entry: Entry): void {
    if (this.hasRoom) this.#enqueue(entry);
    else if (this.#options.onFull === "wait") this.#room.push(entry);
    else if (this.#options.onFull === "reject") this.#refuse(entry, queueFullError(this.#options.maxQueueSize));
    else this.#replaceOldest(entry);
  }

  /** Resolves when there is room. */
  ready(): Promise<void> {
    if (this.hasRoom) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ready.push(resolve);
    });
  }

  flush(): Promise<void> {
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
    this.#options = options;
    this.#queue.reshape(options.maxBatchSize, options.maxBatchCost);
    this.#reconsider();
  }

  drain(): void {
    this.#isDraining = true;
    this.#pump(false);
  }

  /** Rejects all that waits, and aborts all that runs, with CLOSED. */
  abandon(): void {
    const now = this.#desk.clock.now();
    const error = closedError();
    for (const sink of this.#queue.clear()) refuse(this.#desk, sink, error, "rejected", now, now);
    for (let entry = this.#room.shift(); entry !== undefined; entry = this.#room.shift()) this.#refuse(entry, error);
    for (const run of [...this.#running]) run.close(now);
    this.drain();
  }

  /** Runs the handler's own `close`. */
  closeHandler(): Promise<void> {
    this.#wake.clear();
    for (const resolve of this.#ready.splice(0)) resolve();
    return this.#environment.close();
  }

  slotReleased(): void {
    this.#busySlots -= 1;
    this.#grantSlots();
    this.#pump(false);
    if (this.#queue.size > 0) this.turnTime();
  }

  ended(run: BatchRun, end: RunEnd, now: number): void {
    this.#running.delete(run);
    if (run.holdsSlot) this.#busySlots -= 1;
    else this.#unstage(run);
    const { start, size } = run;
    const { tally, events } = this.#desk;
    tally.batchEnded(size, end.runMs, now);
    if (events.hears("batch")) {
      const { key, reason, cost, startedAt } = start;
      events.emit("batch", { id: run.id, key, reason, size, cost, startedAt, ...end });
    }
    this.#queue.batchEnded(start.flushes);
    this.#grantSlots();
    this.#pump(false);
    if (this.#queue.size > 0) this.turnTime();
  }

  readonly #endTurn = (): void => {
    this.#turnIsOpen = false;
    this.#pump(true);
  };

  #enqueue(entry: Entry): void {
    const line = this.#queue.line(entry.key, entry.priority, entry.small);
    line.push(entry.tenant, entry.item, entry.sink, entry.time, entry.cost, entry.context);
    if (this.#options.maxWaitMs === 0) return;
    this.#noteHot(line.lane);
    if (typeof entry.sink === "function") return;
    if (entry.sink instanceof Ticket) this.#press(line.lane, entry.sink);
    else if (entry.sink instanceof Shared) this.#pressAll(line.lane, entry.sink);
  }

  #pressAll(lane: Lane, shared: Shared): void {
    shared.onJoin = (ticket) => this.#press(lane, ticket);
    for (const ticket of shared.callers) this.#press(lane, ticket);
  }

  /** A lane must not be held past the deadline of an entry in it. */
  #press(lane: Lane, ticket: Ticket): void {
    if (ticket.dueAt === Number.POSITIVE_INFINITY) return;
    lane.press(new PressingTicket(ticket));
    this.#queue.hot.add(lane);
  }

  /** A lane that may be full or have enough is looked at even while others are more urgent. */
  #noteHot(lane: Lane): void {
    const { minBatchSize, maxBatchCost, batchCost } = this.#options;
    if (
      lane.size >= minBatchSize ||
      lane.cost >= maxBatchCost ||
      (batchCost !== "sum" && maxBatchCost < Number.POSITIVE_INFINITY)
    ) {
      this.#queue.hot.add(lane);
    }
  }

  #replaceOldest(entry: Entry): void {
    const dropped = this.#queue.dropOldest();
    const error = droppedError(this.#options.maxQueueSize);
    if (dropped !== null) refuse(this.#desk, dropped, error, "rejected", entry.time, entry.time);
    this.#enqueue(entry);
  }

  #refuse(entry: Entry, error: unknown): void {
    refuse(this.#desk, entry.sink, error, "rejected", entry.time, this.#desk.clock.now());
  }

  /** Looks at every lane again at the end of the turn. */
  #reconsider(): void {
    for (const lane of this.#queue.lanes()) this.#queue.hot.add(lane);
    this.turnTime();
  }

  #pump(isTurnOver: boolean): void {
    if (this.#isPumping) {
      this.#pumpAgain = true;
      return;
    }
    this.#isPumping = true;
    do {
      this.#pumpAgain = false;
      this.#sendBatches(isTurnOver);
    } while (this.#pumpAgain);
    this.#isPumping = false;
    while (this.#ready.length > 0 && this.hasRoom) this.#ready.shift()?.();
    if (this.#isDraining && this.isAtRest) this.#onRest();
  }

  #sendBatches(isTurnOver: boolean): void {
    let now = this.#desk.clock.now();
    this.#desk.agenda.ringDue(now);
    this.#admit();
    while (this.#queue.size > 0 && this.#mayStart()) {
      const choice = this.#choose(now, isTurnOver);
      if (choice === undefined) return;
      this.#send(choice, now);
      this.#admit();
      now = this.#desk.clock.now();
    }
    this.#wake.clear();
  }

  /** Lets blocked submits in, in their order, as far as there is room. */
  #admit(): void {
    while (this.#room.size > 0 && this.#queue.size < this.#options.maxQueueSize) {
      const entry = this.#room.shift();
      if (entry !== undefined) this.#enqueue(entry);
    }
  }

  #mayStart(): boolean {
    const { concurrency, prefetch } = this.#options;
    if (this.#busySlots < concurrency && this.#staged.length === 0)
      return this.#running.size < concurrency + this.#depth();
    return this.#stages.prepare !== undefined && this.#staged.length < prefetch;
  }

  /** How many batches may be beside the slots: being prepared before, or finished after. */
  #depth(): number {
    const { prefetch } = this.#options;
    const stages = (this.#stages.prepare === undefined ? 0 : 1) + (this.#stages.finish === undefined ? 0 : 1);
    return Math.max(1, prefetch * stages);
  }

  /** The lane to send from now, or undefined, with the timer set for the next look. */
  #choose(now: number, isTurnOver: boolean): Choice | undefined {
    const { priorityAgingMs, minBatchSize, maxWaitMs, maxQueueSize } = this.#options;
    const isQueueFull = this.#queue.size >= maxQueueSize;
    const [isDraining, isPaused] = [this.#isDraining, this.#isPaused];
    const state: PolicyState = { minBatchSize, maxWaitMs, isQueueFull, isDraining, isPaused, isTurnOver };
    const urgent = this.#queue.mostUrgent(now, priorityAgingMs);
    if (urgent === undefined) return undefined;
    const first = decide(this.#view(urgent, state, now), state, now);
    if (first.reason !== null) return { lane: urgent, reason: first.reason };
    const hot = this.#hotChoice(state, now);
    if (hot !== undefined) return hot;
    const oldest = this.#queue.oldest() ?? urgent;
    const last = oldest === urgent ? first : decide(this.#view(oldest, state, now), state, now);
    if (last.reason !== null) return { lane: oldest, reason: last.reason };
    this.#wake.set(last.wakeAt, now);
    return undefined;
  }

  #hotChoice(state: PolicyState, now: number): Choice | undefined {
    for (const lane of this.#queue.hot) {
      const { reason } = decide(this.#view(lane, state, now), state, now);
      if (reason !== null) return { lane, reason };
      if (state.isTurnOver && !state.isPaused) this.#queue.hot.delete(lane);
    }
    return undefined;
  }

  #view(lane: Lane, state: PolicyState, now: number): LaneView {
    return {
      size: lane.size,
      full: this.#fullness(lane, state, now),
      oldestAt: lane.oldestAt(),
      pressingAt: state.maxWaitMs > 0 ? lane.pressingAt() : Number.POSITIVE_INFINITY,
      isFlushed: lane.flushed > 0,
    };
  }

  /** Whether the next item would break a cap. Only a sum is known without packing; the others are packed while held. */
  #fullness(lane: Lane, state: PolicyState, now: number): Full {
    const { maxBatchSize, maxBatchCost, batchCost } = this.#options;
    if (lane.size >= maxBatchSize) return "size";
    if (maxBatchCost === Number.POSITIVE_INFINITY) return null;
    if (batchCost === "sum") return lane.cost >= maxBatchCost ? "cost" : null;
    return state.maxWaitMs > 0 && state.isTurnOver ? pack(lane.lines, this.#options, now).full : null;
  }

  #send({ lane, reason }: Choice, now: number): void {
    const caps = this.#isPaused && !this.#isDraining ? this.#flushedOnly(lane) : this.#options;
    const pick = pack(lane.lines, caps, now);
    const flushes = this.#queue.flushesOf(pick);
    for (const flush of flushes) flush.batchStarted();
    this.#sequence += 1;
    const start = {
      idPrefix: this.#idPrefix,
      sequence: this.#sequence,
      key: lane.key,
      reason: pick.full ?? reason,
      cost: pick.cost,
      startedAt: now,
      flushes,
    };
    const run = new BatchRun(start, this.#environment);
    const segment = this.#queue.take(pick, run);
    this.#countStart(run, segment, now);
    this.#running.add(run);
    const holdsSlot = this.#busySlots < this.#options.concurrency && this.#staged.length === 0;
    if (holdsSlot) this.#busySlots += 1;
    else this.#staged.push(run);
    run.begin(segment, holdsSlot);
  }

  /** While paused a flush may send what it covers and no more. */
  #flushedOnly(lane: Lane): ResolvedOptions {
    return { ...this.#options, maxBatchSize: Math.min(this.#options.maxBatchSize, lane.flushed) };
  }

  #countStart(run: BatchRun, segment: Segment, now: number): void {
    const { tally } = this.#desk;
    tally.batchStarted(run.start.reason, segment.live, run.start.cost, now);
    const { times } = segment;
    let from = 0;
    for (let index = 1; index <= times.length; index += 1) {
      if (index < times.length && times[index] === times[from]) continue;
      tally.waited(now - (times[from] as number), index - from);
      from = index;
    }
  }

  #grantSlots(): void {
    while (this.#staged.length > 0 && this.#busySlots < this.#options.concurrency) {
      this.#busySlots += 1;
      this.#staged.shift()?.grantSlot();
    }
  }

  #unstage(run: BatchRun): void {
    const index = this.#staged.indexOf(run);
    if (index !== -1) this.#staged.splice(index, 1);
  }
}
