// What waits, which slots are taken, and when to look again: the engine's one stateful file.
//
// Everything happens on events (a submit, the end of a turn, a batch's end, a caller leaving, one timer), and each
// event comes down to `#pump`: while a slot is free, ask the policy about the lanes that may be ready and send one's
// batch. A batch is closed at the moment a slot takes it, not before, so it grows for as long as the slots are busy.
// Nothing is polled; an idle batcher holds no timer.

import { BatchRun } from "./batch-run.ts";
import { type Desk, refuse } from "./callers.ts";
import { type Choice, chooseLane, mayBeReady } from "./choose.ts";
import { Alarm } from "./clock.ts";
import { watchDeadlines } from "./deadlines.ts";
import { RunEnvironment, type RunOwner } from "./environment.ts";
import { closedError, droppedError, queueFullError } from "./errors.ts";
import { captureAsyncContext, type Stages } from "./handler.ts";
import type { Entry } from "./intake.ts";
import type { Lane } from "./lane.ts";
import type { ResolvedOptions } from "./options.ts";
import type { BatchReason } from "./outcome.ts";
import { type Pick, pack, packUntil } from "./pack.ts";
import { pressAll, pressSegment, pressSink } from "./press.ts";
import { LONGEST_SEGMENT, Queue } from "./queue.ts";
import type { Run, RunEnd } from "./run.ts";
import type { Segment } from "./segment.ts";
import { Shortcuts } from "./shortcut.ts";
import type { Sink } from "./sink.ts";
import { Slots } from "./slots.ts";
import { endOfTurn } from "./turn.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** How much room is noted at once; small, so that counting it down stays integer arithmetic. */
const MOST_SPARE = 1_000_000;

export class Scheduler implements RunOwner {
  readonly #desk: Desk;
  readonly #environment: RunEnvironment;
  readonly #queue: Queue;
  readonly #room: WaitingRoom = new WaitingRoom();
  readonly #wake: Alarm;
  readonly #idPrefix: string;
  readonly #slots: Slots;
  readonly #ready: (() => void)[] = [];
  readonly #onRest: () => void;
  readonly shortcuts: Shortcuts = new Shortcuts();
  #options: ResolvedOptions;
  #sequence = 0;
  /** Entries that certainly fit in the queue; measured anew when used up. */
  #spare = 0;
  #turnIsOpen = false;
  #turnAt = 0;
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
    return this.#queue.size === 0 && this.#room.size === 0 && this.running.length === 0;
  }

  get hasRoom(): boolean {
    return this.#spare > 0 || this.#measureRoom() > 0;
  }

  /** While somebody is blocked there is no room for anybody else. */
  #measureRoom(): number {
    this.settleCounts();
    const spare = this.#room.size > 0 ? 0 : this.#options.maxQueueSize - this.#queue.size;
    this.#spare = Math.max(0, Math.min(spare, MOST_SPARE));
    return this.#spare;
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

  /** Queues an item that has no more than a cost and a priority, where there is room: the hot path. */
  acceptPlain(item: unknown, sink: Sink, position: number, cost: number, priority: number, dueAt: number): void {
    const line = priority === 0 ? this.#queue.plain : this.#queue.line(undefined, priority, false);
    this.#spare -= 1;
    this.shortcuts.shut(priority);
    const segment = line.push("", item, sink, this.turnTime(), cost);
    if (position > 0) segment.setPosition(segment.length - 1, position);
    if (dueAt !== Number.POSITIVE_INFINITY) this.#setDue(line.lane, segment, dueAt);
    if (this.#options.maxWaitMs > 0) this.#noteHot(line.lane);
    else if (dueAt === Number.POSITIVE_INFINITY) this.#openShortcut(priority, segment);
  }

  /** Later submits of the turn that are just like the last one may follow it, as far as the segment goes. */
  #openShortcut(priority: number, segment: Segment): void {
    const { maxBatchSize, maxBatchCost } = this.#options;
    const room = Math.min(maxBatchSize, LONGEST_SEGMENT) - segment.length;
    this.#spare -= this.shortcuts.open(priority, segment, Math.min(this.#spare, room), maxBatchCost);
  }

  /** Closes the shortcuts and catches up with the counts that they left behind. */
  settleCounts(): void {
    const { added, unused } = this.shortcuts.close();
    this.#spare += unused;
    this.#desk.tally.submitted += added;
  }

  /** Queues an entry, or does with it what `onFull` says. */
  accept(entry: Entry): void {
    if (this.hasRoom) this.#enqueue(entry);
    else if (this.#options.onFull === "wait") watchDeadlines(this.#desk, this.#room.push(entry));
    else if (this.#options.onFull === "reject")
      refuse(this.#desk, entry, queueFullError(this.#options.maxQueueSize), "rejected");
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
    this.settleCounts();
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
    this.settleCounts();
    this.#options = options;
    this.#spare = 0;
    this.#queue.reshape(options.maxBatchSize, options.maxBatchCost);
    this.#slots.grant(options);
    if (startsHolding) pressAll(this.#queue);
    this.#reconsider();
  }

  drain(): void {
    this.#isDraining = true;
    this.#pump(false);
  }

  /** Rejects all that waits, and aborts all that runs, with CLOSED. All leave before anyone is told of it. */
  abandon(): void {
    this.settleCounts();
    const now = this.#desk.clock.now();
    const error = closedError();
    const left = this.#queue.clear();
    for (let last = this.#room.shift(); last !== undefined; last = this.#room.shift()) left.push(last);
    for (const last of left) refuse(this.#desk, last, error, "rejected");
    for (const run of this.running.slice()) run.close(now);
    this.drain();
  }

  /** Runs the handler's own `close`. */
  closeHandler(): Promise<void> {
    this.#wake.clear();
    for (const resolve of this.#ready.splice(0)) resolve();
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
    this.#pump(false);
    if (this.#queue.size > 0 && this.#slots.mayStart(this.#options)) this.turnTime();
  }

  readonly #endTurn = (): void => {
    this.#turnIsOpen = false;
    this.#pump(true);
  };

  #enqueue(entry: Entry): void {
    this.settleCounts();
    this.#spare = Math.max(0, this.#spare - 1);
    const line = this.#queue.line(entry.key, entry.priority, entry.small);
    const segment = line.push(entry.tenant, entry.item, entry.sink, entry.time, entry.cost);
    if (entry.context !== undefined) segment.setContext(segment.length - 1, entry.context);
    if (entry.position > 0) segment.setPosition(segment.length - 1, entry.position);
    if (entry.dueAt !== Number.POSITIVE_INFINITY) this.#setDue(line.lane, segment, entry.dueAt);
    if (this.#options.maxWaitMs === 0) return;
    this.#noteHot(line.lane);
    pressSink(this.#queue, line.lane, entry.sink);
  }

  #setDue(lane: Lane, segment: Segment, dueAt: number): void {
    if (!segment.setDue(segment.length - 1, dueAt)) return;
    watchDeadlines(this.#desk, segment);
    if (this.#options.maxWaitMs > 0) pressSegment(this.#queue, lane, segment);
  }

  #noteHot(lane: Lane): void {
    if (mayBeReady(lane, this.#options)) this.#queue.hot.add(lane);
  }

  #replaceOldest(entry: Entry): void {
    const dropped = this.#queue.dropOldest();
    this.#enqueue(entry);
    if (dropped !== null) refuse(this.#desk, dropped, droppedError(this.#options.maxQueueSize), "rejected");
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
    try {
      do {
        this.#pumpAgain = false;
        this.#sendBatches(isTurnOver);
      } while (this.#pumpAgain);
    } finally {
      this.#isPumping = false;
    }
    while (this.#ready.length > 0 && this.hasRoom) this.#ready.shift()?.();
    if (this.#isDraining && this.isAtRest) this.#onRest();
  }

  #sendBatches(isTurnOver: boolean): void {
    for (;;) {
      this.settleCounts();
      this.#admit();
      if (!this.#slots.mayStart(this.#options)) break;
      const now = this.#desk.clock.now();
      this.#desk.agenda.ringDue(now);
      this.#admit();
      this.settleCounts();
      if (this.#queue.size === 0) break;
      const choice = this.#choose(now, isTurnOver);
      if (choice.lane === null) {
        this.#wake.set(choice.wakeAt, now);
        return;
      }
      this.#send(choice.lane, choice.reason, now);
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

  #choose(now: number, isTurnOver: boolean): Choice {
    const { minBatchSize, maxWaitMs, maxQueueSize } = this.#options;
    const isQueueFull = this.#queue.size >= maxQueueSize;
    const [isDraining, isPaused] = [this.#isDraining, this.#isPaused];
    const state = { minBatchSize, maxWaitMs, isQueueFull, isDraining, isPaused, isTurnOver };
    return chooseLane(this.#queue, this.#options, state, now);
  }

  #send(lane: Lane, reason: BatchReason, now: number): void {
    const isFlushOnly = this.#isPaused && !this.#isDraining;
    const pick = isFlushOnly ? this.#packFlushed(lane, now) : pack(lane.lines, this.#options, now);
    const flushes = this.#queue.flushesOf(pick);
    for (const flush of flushes) flush.batchStarted();
    this.#sequence += 1;
    const start = {
      idPrefix: this.#idPrefix,
      sequence: this.#sequence,
      key: lane.key,
      reason: pick.full ?? (isFlushOnly ? "flush" : reason),
      cost: pick.cost,
      startedAt: now,
      flushes,
    };
    const run = new BatchRun(start, this.#environment);
    const segment = this.#queue.take(pick, run);
    watchDeadlines(this.#desk, segment);
    const waitedMs = this.#countStart(run, segment, now);
    run.begin(segment, this.#slots.add(run, this.#options), waitedMs);
  }

  /** While paused a flush may send what it covers and no more. */
  #packFlushed(lane: Lane, now: number): Pick {
    return packUntil(this.#queue.flushedEpoch, lane.lines, this.#options, now);
  }

  /** Returns how long the oldest entry has waited, which may be anywhere in the batch. */
  #countStart(run: Run, segment: Segment, now: number): number {
    const { tally } = this.#desk;
    let longest = 0;
    tally.batchStarted(run.start.reason, segment.live, run.start.cost, now);
    for (let from = 0; from < segment.length; ) {
      const to = segment.endOfTurn(from);
      const waitedMs = now - segment.timeAt(from);
      tally.waited(waitedMs, to - from);
      if (waitedMs > longest) longest = waitedMs;
      from = to;
    }
    return longest;
  }
}
