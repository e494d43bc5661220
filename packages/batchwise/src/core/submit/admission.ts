// Enforces `maxQueueSize`. An entry that fits is queued; any other waits outside, is refused, or
// replaces the oldest (`onFull`). Outside there is the same order as inside: rank, then tenants,
// then arrival. New submits never pass blocked ones of the same rank.

import { droppedError, queueFullError } from "../contract/errors.ts";
import type { LaneCaps } from "../policy/caps.ts";
import { mayBeReady } from "../policy/choose-lane.ts";
import { pack } from "../policy/pack.ts";
import type { LatencyTarget } from "../policy/target-rule.ts";
import { LONGEST_CHUNK } from "../queue/chunk.ts";
import type { Entry } from "../queue/entry.ts";
import type { Lane } from "../queue/lane.ts";
import { Queue } from "../queue/queue.ts";
import type { Moment, Turn } from "../time/turn.ts";
import { refuse } from "./callers.ts";
import type { Services } from "./services.ts";

export class Admission {
  readonly #services: Services;
  readonly #turn: Turn;
  readonly #queue: Queue;
  /** Submits that a full queue holds back. Made when it is first needed. */
  #outside: Queue | null = null;
  /** Producers that wait for a place, in order; null if none. */
  #ready: (() => void)[] | null = null;
  /** Places given to producers in this turn and not taken yet. */
  #handedOut = 0;
  #retrying = 0;
  /** How many entries without a key may enter, with nothing to decide for each. */
  #room = 0;
  /** Null without a latency target. */
  target: LatencyTarget | null = null;
  caps: LaneCaps;

  constructor(services: Services) {
    this.caps = services.options;
    this.#services = services;
    this.#turn = services.turn;
    this.#queue = services.queue;
  }

  /** How many wait outside. */
  get blocked(): number {
    return this.#outside?.size ?? 0;
  }

  /** Items of batches that pause before a retry: they count in the queue's bound. */
  get retrying(): number {
    return this.#retrying;
  }

  noteRetrying(change: number): void {
    this.#retrying += change;
    this.endRoom();
  }

  get isFull(): boolean {
    return this.#free() <= 0;
  }

  /** Queues an entry, or applies `onFull`. */
  accept(entry: Entry): void {
    if (entry.key !== undefined || (this.#room <= 0 && !this.#findsRoom())) {
      this.#decide(entry);
      return;
    }
    this.#room -= 1;
    this.#queue.push(entry);
  }

  /** The same for plain entries: all at once if they fit, else one by one. */
  acceptAll(entries: readonly Entry[]): void {
    this.#findsRoom();
    if (entries.length > this.#room) {
      for (const entry of entries) this.accept(entry);
    } else {
      this.#room -= entries.length;
      this.#queue.pushAll(entries);
    }
  }

  /** Call when there may be less room than before: the next submit looks again. */
  endRoom(): void {
    this.#room = 0;
  }

  #decide(entry: Entry): void {
    const { name, options } = this.#services;
    const { onFull, maxQueueSize } = options;
    const refusal = this.target?.refusalOf(entry);
    if (refusal) this.#refuse(entry, refusal);
    else if (this.#hasRoom()) this.#enter(entry);
    else if (onFull === "wait") this.#waitOutside(entry);
    else if (onFull === "drop-oldest") this.#replaceOldest(entry);
    else this.#refuse(entry, queueFullError(name, maxQueueSize));
  }

  /** Lets blocked submits in, in their order, as far as there is room. */
  admit(): void {
    const outside = this.#outside;
    if (outside === null || outside.size === 0 || this.#free() <= 0) return;
    const caps = { maxBatchSize: this.#free(), maxBatchCost: Infinity, batchCost: "sum" } as const;
    const next = pack(outside.oldestLane as Lane, caps, Infinity);
    outside.take(next.entries, null);
    let was: Moment | null = null;
    let moment: Moment | null = null;
    for (const entry of next.entries) {
      // It has waited as long as before, and no flush before now covers it.
      if (moment === null || entry.moment !== was) {
        was = entry.moment;
        moment = this.#turn.newMoment(was.at);
      }
      entry.moment = moment;
      this.#enter(entry);
    }
  }

  /**
   * Resolves when there is a place for its caller. No other producer gets it until the end of the
   * turn.
   */
  ready(): Promise<void> {
    return new Promise((resolve) => {
      this.#ready ??= [];
      this.#ready.push(resolve);
      this.#handOut();
    });
  }

  /**
   * To be called at the end of a step: at the end of a turn, places that were handed out and not
   * taken are free again.
   */
  announce(): void {
    if (!this.#turn.isOpen) this.#handedOut = 0;
    // How many can be in time has changed.
    if (this.target !== null) this.endRoom();
    this.#handOut();
  }

  /** Gives each free place to one producer, in the order of their calls. */
  #handOut(): void {
    if (this.#ready === null || !this.#hasRoom()) return;
    const given = this.#ready.splice(0, Math.max(0, this.#free() - this.#handedOut));
    if (this.#ready.length === 0) this.#ready = null;
    this.#handedOut += given.length;
    this.endRoom();
    this.#turn.lookAgain();
    for (const resolve of given) resolve();
  }

  /** Resolves every pending `ready()`. */
  release(): void {
    const ready = this.#ready ?? [];
    this.#ready = null;
    for (const resolve of ready) resolve();
  }

  /** Removes and returns all blocked entries. */
  clear(): Entry[] {
    return this.#outside?.clear() ?? [];
  }

  #free(): number {
    return this.#services.options.maxQueueSize - this.#queue.size - this.#retrying;
  }

  /** While a submit is blocked there is no room for another. */
  #hasRoom(): boolean {
    return this.#free() > 0 && (this.#outside === null || this.#outside.size === 0);
  }

  /** Finds out how many entries without a key may enter, with nothing to decide for each. */
  #findsRoom(): boolean {
    const { maxWaitMs, maxBatchSize } = this.#services.options;
    const mayEnter = this.#handedOut === 0 && maxWaitMs === 0 && this.#hasRoom();
    this.#room = mayEnter ? Math.min(this.#free(), this.target?.room(this.#turn.moment.at) ?? Infinity) : 0;
    this.#queue.chunkLength = Math.min(maxBatchSize, LONGEST_CHUNK);
    return this.#room > 0;
  }

  #enter(entry: Entry): void {
    if (this.#handedOut > 0) this.#handedOut -= 1;
    this.#room -= 1;
    const lane = this.#queue.push(entry);
    const { maxWaitMs, gather } = this.#services.options;
    // A lane may be held although a slot is free.
    const mayBeHeld = maxWaitMs > 0 || (lane.key !== undefined && gather !== "turn");
    if (mayBeHeld && mayBeReady(lane, this.caps)) this.#queue.markHot(lane);
  }

  #waitOutside(entry: Entry): void {
    const { fairBy, priorityAgingMs } = this.#services.options;
    this.endRoom();
    this.#outside ??= new Queue({ isFair: fairBy !== undefined, isKeyed: false, priorityAgingMs });
    this.#outside.push(entry);
  }

  #replaceOldest(entry: Entry): void {
    const { oldest } = this.#queue;
    const { name, options } = this.#services;
    const { maxQueueSize } = options;
    if (oldest === null) {
      this.#refuse(entry, queueFullError(name, maxQueueSize, "waiting for a retry"));
      return;
    }
    // A listener that hears of the refusal may submit: the place is taken by then.
    this.#enter(entry);
    this.letGo([oldest], droppedError(name, maxQueueSize));
  }

  /** Refuses waiting entries. */
  letGo(entries: readonly Entry[], error: Error): void {
    for (const entry of entries) {
      const { recipient, position, moment } = entry;
      entry.leave();
      this.#refuse({ recipient, position, moment }, error);
    }
  }

  #refuse(entry: Parameters<typeof refuse>[1], error: Error): void {
    refuse(this.#services, entry, error, "rejected");
  }
}
