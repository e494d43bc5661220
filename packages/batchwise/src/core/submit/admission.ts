// Where submits meet the bound of the queue. What fits goes in, the submits of one turn by shortcuts; what does not fit
// waits outside, is refused, or takes the place of the oldest (`onFull`).

import { droppedError, queueFullError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { mayBeReady } from "../policy/choose-lane.ts";
import { LONGEST_SEGMENT } from "../queue/fifo.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import type { Addressee, Sink } from "../queue/recipient.ts";
import type { Segment } from "../queue/segment.ts";
import { dueAfter } from "../time/clock.ts";
import type { Turn } from "../time/turn.ts";
import { type Desk, refuse } from "./callers.ts";
import { Shortcuts } from "./fast-path.ts";
import { pressSegment, pressSink } from "./press.ts";
import type { Entry } from "./read-item.ts";
import { watchDeadlines } from "./segment-deadlines.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** How much room is noted at once; small, so that counting it down stays integer arithmetic. */
const MOST_SPARE = 1_000_000;

export class Admission {
  readonly #desk: Desk;
  readonly #queue: Queue;
  readonly #turn: Turn;
  readonly #room: WaitingRoom = new WaitingRoom();
  readonly #ready: (() => void)[] = [];
  readonly shortcuts: Shortcuts = new Shortcuts();
  #options: ResolvedOptions;
  /** Entries that certainly fit in the queue; measured anew when used up. */
  #spare = 0;

  constructor(desk: Desk, queue: Queue, turn: Turn, options: ResolvedOptions) {
    this.#desk = desk;
    this.#queue = queue;
    this.#turn = turn;
    this.#options = options;
  }

  /** The options in force. */
  get options(): ResolvedOptions {
    return this.#options;
  }

  get hasRoom(): boolean {
    return this.#spare > 0 || this.#measureRoom() > 0;
  }

  /** How many wait outside. */
  get blocked(): number {
    return this.#room.size;
  }

  /** Queues an item that has no more than a tenant, a cost, a priority and a deadline, where there is room: the hot path. */
  acceptPlain(
    tenant: string,
    item: unknown,
    sink: Sink,
    position: number,
    cost: number,
    priority: number,
    timeoutMs: number,
  ): void {
    const line = priority === 0 ? this.#queue.plain : this.#queue.line(undefined, priority, false);
    this.#spare -= 1;
    this.shortcuts.shut(priority);
    const segment = line.push(tenant, item, sink, this.#turn.time(), cost);
    if (position > 0) segment.setPosition(segment.length - 1, position);
    if (timeoutMs !== Number.POSITIVE_INFINITY)
      this.#setDue(line.lane, segment, dueAfter(this.#desk.clock, timeoutMs), timeoutMs);
    if (this.#options.maxWaitMs > 0) this.#noteHot(line.lane);
    else if (timeoutMs === Number.POSITIVE_INFINITY && line.ring === null) this.#openShortcut(priority, segment);
  }

  /** Queues an entry, or does with it what `onFull` says. */
  accept(entry: Entry): void {
    if (this.hasRoom) this.#enqueue(entry);
    else if (this.#options.onFull === "wait") watchDeadlines(this.#desk, this.#room.push(entry));
    else if (this.#options.onFull === "reject")
      refuse(this.#desk, entry, queueFullError(this.#options.maxQueueSize), "rejected");
    else this.#replaceOldest(entry);
  }

  /** Closes the shortcuts and catches up with the counts that they left behind. */
  settleCounts(): void {
    const { added, unused } = this.shortcuts.close();
    this.#spare += unused;
    this.#desk.tally.submitted += added;
  }

  configure(options: ResolvedOptions): void {
    this.settleCounts();
    this.#options = options;
    this.#spare = 0;
  }

  /** Lets blocked submits in, in their order, as far as there is room. */
  admit(): void {
    while (this.#room.size > 0 && this.#queue.size < this.#options.maxQueueSize) {
      const entry = this.#room.shift();
      if (entry !== undefined) this.#enqueue(entry);
    }
  }

  /** Resolves when there is room. */
  ready(): Promise<void> {
    if (this.hasRoom) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ready.push(resolve);
    });
  }

  /** Tells those who asked for room as long as there is some. */
  announce(): void {
    while (this.#ready.length > 0 && this.hasRoom) this.#ready.shift()?.();
  }

  /** Tells all who asked for room: there will be none. */
  release(): void {
    for (const resolve of this.#ready.splice(0)) resolve();
  }

  /** Sends away all who wait outside, and returns who is to be told. */
  clear(): Addressee[] {
    const all: Addressee[] = [];
    for (let last = this.#room.shift(); last !== undefined; last = this.#room.shift()) all.push(last);
    return all;
  }

  /** While somebody is blocked there is no room for anybody else. */
  #measureRoom(): number {
    this.settleCounts();
    const spare = this.#room.size > 0 ? 0 : this.#options.maxQueueSize - this.#queue.size;
    this.#spare = Math.max(0, Math.min(spare, MOST_SPARE));
    return this.#spare;
  }

  /** Later submits of the turn that are just like the last one may follow it, as far as the segment goes. */
  #openShortcut(priority: number, segment: Segment): void {
    const { maxBatchSize, maxBatchCost } = this.#options;
    const room = Math.min(maxBatchSize, LONGEST_SEGMENT) - segment.length;
    this.#spare -= this.shortcuts.open(priority, segment, Math.min(this.#spare, room), maxBatchCost);
  }

  #enqueue(entry: Entry): void {
    this.settleCounts();
    this.#spare = Math.max(0, this.#spare - 1);
    const line = this.#queue.line(entry.key, entry.priority, entry.small);
    const segment = line.push(entry.tenant, entry.item, entry.sink, entry.time, entry.cost);
    if (entry.context !== undefined) segment.setContext(segment.length - 1, entry.context);
    if (entry.position > 0) segment.setPosition(segment.length - 1, entry.position);
    if (entry.dueAt !== Number.POSITIVE_INFINITY) this.#setDue(line.lane, segment, entry.dueAt, entry.timeoutMs);
    if (this.#options.maxWaitMs === 0) return;
    this.#noteHot(line.lane);
    pressSink(this.#queue, line.lane, entry.sink);
  }

  #setDue(lane: Lane, segment: Segment, dueAt: number, timeoutMs: number): void {
    if (!segment.setDue(segment.length - 1, dueAt, timeoutMs)) return;
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
}
