// The life of one batch from the moment it leaves the queue: calls to the handler, time limit, further attempts, halves,
// and the answer to every caller. It holds a slot while the handler works; a pause before a retry holds none. Callers may
// leave at any moment, and when the last has gone its signal aborts.

import { batchResultError, closedError, handlerTimeoutError, resultLength } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import { measureBatch } from "../policy/batch-cost.ts";
import type { Entry, EntryHolder } from "../queue/entry.ts";
import type { Flush } from "../queue/flush.ts";
import type { Services } from "../submit/services.ts";
import { calling, type Due } from "../time/deadlines.ts";
import type { HeapNode } from "../time/heap.ts";
import { BatchSignal } from "./batch-signal.ts";
import { type BatchStart, CallContext } from "./context.ts";
import type { CallingBatch, HandlerCalls } from "./handler-calls.ts";
import { askedPause, backoffOf, isWorthRetrying } from "./retry-policy.ts";
import { failEntries, ignorePlaces, type SettledBatch, settlePlaces } from "./settle.ts";

/** How a batch ended. */
export interface RunEnd {
  readonly runMs: number;
  readonly waitMs: number;
  /** The error that failed it as a whole; undefined where there was none. */
  readonly error: unknown;
}

/** The scheduler, as a batch sees it. */
export interface RunOwner {
  /** The batch goes on without its slot. */
  slotReleased(): void;
  /** The batch has given its slot back and waits before another call. */
  rested(run: BatchRun): void;
  /** A batch that rests wants a slot for another call. */
  wantsSlot(run: BatchRun): void;
  ended(run: BatchRun, end: RunEnd, now: number): void;
}

/** What all batches of one batcher share. */
export interface RunEnvironment {
  readonly services: Services;
  readonly calls: HandlerCalls;
  readonly owner: RunOwner;
  /** The options that do not change: those of retries, failures and cost. */
  readonly options: ResolvedOptions;
}

export class BatchRun implements EntryHolder, CallingBatch, SettledBatch {
  readonly isWaiting = false;
  readonly start: BatchStart;
  /** The flushes that wait for it. */
  flushes: readonly Flush[];
  readonly #environment: RunEnvironment;
  readonly #waitedMs: number;
  readonly #signal: BatchSignal = new BatchSignal();
  /** The entries of the current call. */
  #entries: readonly Entry[];
  /** Halves that have not been tried yet, the next one last. */
  readonly #halves: (readonly Entry[])[] = [];
  /** Callers who have no answer yet, of all halves. */
  #live: number;
  #attempt = 0;
  /** Goes up with each call, so that an answer to an earlier call is known as late. */
  #call = 0;
  #limit: HeapNode<Due> | null = null;
  #backoff: HeapNode<Due> | null = null;
  #error: unknown;
  #isCalling = false;
  #callsAgain = false;
  #grantSlot: (() => void) | null = null;
  isOver = false;
  holdsSlot = false;
  /** True while it waits before another call. */
  isResting = false;
  /** How many running items it counts for. */
  countedAs: number;
  /** Where it stands among the running ones; see slots.ts. */
  slotIndex = 0;
  /** True until the turn in which it began has ended. */
  isYoung = true;

  constructor(
    entries: readonly Entry[],
    start: BatchStart,
    waitedMs: number,
    flushes: readonly Flush[],
    environment: RunEnvironment,
  ) {
    this.#entries = entries;
    this.#live = entries.length;
    this.countedAs = entries.length;
    this.start = start;
    this.#waitedMs = waitedMs;
    this.flushes = flushes;
    this.#environment = environment;
  }

  get id(): string {
    return `${this.start.idPrefix}${this.start.sequence}`;
  }

  /** Callers who have no answer yet. */
  get live(): number {
    return this.#live;
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  /** What the next call of a batch that rests costs. */
  get cost(): number {
    return measureBatch(liveOf(this.#entries), this.#environment.options.batchCost);
  }

  /** Starts, with a slot or prepared ahead of one. */
  begin(holdsSlot: boolean): void {
    this.holdsSlot = holdsSlot;
    this.#startCall();
  }

  /** Gives a batch the slot that it waits for. */
  grantSlot(): void {
    this.holdsSlot = true;
    if (this.isResting) {
      this.isResting = false;
      this.#callAgain();
      return;
    }
    this.#armLimit();
    this.#grantSlot?.();
    this.#grantSlot = null;
  }

  slot(): Promise<void> | undefined {
    if (this.holdsSlot) return undefined;
    return new Promise((resolve) => {
      this.#grantSlot = resolve;
    });
  }

  releaseSlot(): void {
    this.holdsSlot = false;
    this.#environment.owner.slotReleased();
  }

  /** Rejects its callers with CLOSED and aborts. */
  close(): void {
    const error = closedError();
    this.#failAll(error, "rejected");
    this.#signal.abort(error);
    this.#end();
  }

  noteSettled(count: number): void {
    this.#live -= count;
  }

  /** A caller has left; with the last one goes the reason to run. */
  left(): void {
    this.#live -= 1;
    if (this.isOver || this.#live > 0) return;
    this.#signal.abort(new DOMException("Every caller of the batch has gone.", "AbortError"));
    if (!this.holdsSlot) this.#end();
  }

  raise(): void {}

  noteDeadline(): void {}

  /** Calls the handler, and again for as long as it answers at once and something is left to try. */
  #startCall(): void {
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

  /** Calls the handler once it is open. Callers who have left by then are not handed to it. */
  #open(): void {
    this.#attempt += 1;
    this.#call += 1;
    const call = this.#call;
    const opening = this.#environment.calls.opening();
    if (opening === undefined) {
      this.#callHandler(call);
      return;
    }
    opening.then(
      () => {
        if (this.isOver) return;
        this.#entries = liveOf(this.#entries);
        if (this.#entries.length === 0) this.#end();
        else this.#callHandler(call);
      },
      (error: unknown) => this.#failed(call, error, false),
    );
  }

  #callHandler(call: number): void {
    const entries = this.#entries;
    const { calls, options } = this.#environment;
    if (this.holdsSlot) this.#armLimit();
    const cost = entries.length === this.start.size ? this.start.cost : measureBatch(entries, options.batchCost);
    let answer: unknown;
    try {
      answer = calls.call(itemsOf(entries), new CallContext(this, entries, cost), this);
      if (isThenable(answer)) {
        Promise.resolve(answer).then(
          (places) => this.#answered(call, places),
          (error: unknown) => this.#failed(call, error),
        );
        return;
      }
    } catch (error) {
      this.#failed(call, error);
      return;
    }
    this.#answered(call, answer);
  }

  #answered(call: number, places: unknown): void {
    const entries = this.#entries;
    if (this.isOver || call !== this.#call) {
      ignorePlaces(places);
      return;
    }
    if (resultLength(places) !== entries.length) {
      ignorePlaces(places);
      this.#failed(call, batchResultError(places, entries.length));
      return;
    }
    const promised = settlePlaces(entries, places as ArrayLike<unknown>, this, this.#environment.services, () => {
      if (!this.isOver && call === this.#call) this.#next();
    });
    if (promised === 0) this.#next();
  }

  #failed(call: number, error: unknown, mayHalve = true): void {
    if (this.isOver || call !== this.#call) return;
    this.#disarmLimit();
    const { options, services } = this.#environment;
    const askedMs = askedPause(options, error, services);
    const entries = liveOf(this.#entries);
    if (entries.length === 0 || this.#signal.isAborted) {
      this.#giveUp(error);
    } else if (isWorthRetrying(options.retry, this.#attempt, error, services.events)) {
      if (!this.isOver) this.#retry(error, askedMs);
    } else if (mayHalve && options.isolateFailures && entries.length > 1) {
      const middle = entries.length >> 1;
      this.#halves.push(entries.slice(middle), entries.slice(0, middle));
      this.#next();
    } else {
      this.#giveUp(error);
    }
  }

  #giveUp(error: unknown): void {
    if (this.#entries.length === this.start.size) this.#error = error;
    failEntries(this.#entries, error, "failed", this, this.#environment.services);
    this.#next();
  }

  /** Calls again with all who are still there: at once where there is no pause, else in the next free slot after it. */
  #retry(error: unknown, askedMs: number): void {
    const { options, services, owner } = this.#environment;
    const ownMs = backoffOf(options.retry?.backoffMs ?? 0, this.#attempt, error, services);
    const backoffMs = Math.max(ownMs, askedMs);
    if (this.isOver) return;
    if (backoffMs === 0 && options.limiter === undefined) {
      this.#callAgain();
      return;
    }
    this.#rest();
    if (backoffMs === 0) {
      owner.wantsSlot(this);
      return;
    }
    this.#backoff = calling(() => {
      this.#backoff = null;
      if (!this.isOver) owner.wantsSlot(this);
    });
    services.deadlines.add(this.#backoff, services.clock.now() + backoffMs);
  }

  #rest(): void {
    this.isResting = true;
    this.#environment.owner.rested(this);
  }

  #callAgain(): void {
    this.#entries = liveOf(this.#entries);
    if (this.#entries.length === 0) this.#next();
    else this.#startCall();
  }

  /** Goes on with the next half, or ends. Each half is a call of its own to a limiter. */
  #next(): void {
    this.#disarmLimit();
    for (let half = this.#halves.pop(); half !== undefined; half = this.#halves.pop()) {
      this.#entries = liveOf(half);
      if (this.#entries.length === 0) continue;
      this.#attempt = 0;
      if (this.#environment.options.limiter === undefined) {
        this.#startCall();
      } else {
        this.#rest();
        this.#environment.owner.wantsSlot(this);
      }
      return;
    }
    this.#end();
  }

  #armLimit(): void {
    const { services, options } = this.#environment;
    const { handlerTimeoutMs } = options;
    if (handlerTimeoutMs === Number.POSITIVE_INFINITY) return;
    this.#disarmLimit();
    const limit = calling(() => {
      if (this.#limit === limit) this.#timedOut(handlerTimeoutMs);
    });
    this.#limit = limit;
    services.deadlines.add(limit, services.clock.now() + handlerTimeoutMs);
  }

  #disarmLimit(): void {
    if (this.#limit !== null) this.#environment.services.deadlines.remove(this.#limit);
    this.#limit = null;
  }

  #timedOut(handlerTimeoutMs: number): void {
    this.#error = handlerTimeoutError(handlerTimeoutMs, this.#entries.length);
    this.#failAll(this.#error, "failed");
    this.#signal.abort(this.#error);
    this.#end();
  }

  #failAll(error: unknown, outcome: FailedOutcome): void {
    const { services } = this.#environment;
    for (const entries of [this.#entries, ...this.#halves]) failEntries(entries, error, outcome, this, services);
    this.#halves.length = 0;
  }

  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#disarmLimit();
    const { services, owner } = this.#environment;
    if (this.#backoff !== null) services.deadlines.remove(this.#backoff);
    this.#backoff = null;
    this.#entries = [];
    const now = services.clock.now();
    const runMs = now - this.start.startedAt;
    owner.ended(this, { runMs, waitMs: this.#waitedMs, error: this.#error }, now);
  }
}

function itemsOf(entries: readonly Entry[]): unknown[] {
  const items = new Array<unknown>(entries.length);
  for (let index = 0; index < entries.length; index += 1) items[index] = (entries[index] as Entry).item;
  return items;
}

/** Those who have not left or been answered. */
function liveOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.every(({ recipient }) => recipient !== null)
    ? entries
    : entries.filter(({ recipient }) => recipient !== null);
}
