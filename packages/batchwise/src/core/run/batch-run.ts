// The life of one batch from the moment it leaves the queue: calls to the handler, time limit, further attempts,
// halving, and the answer to every caller. It holds its slot until the handler has answered (or has run out of time);
// callers may leave it at any moment, and when the last has gone its signal aborts.

import { batchResultError, closedError, handlerTimeoutError, resultLength } from "../contract/errors.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import { measureBatch } from "../policy/batch-cost.ts";
import { Segment, type SegmentOwner } from "../queue/segment.ts";
import { Timeout } from "../time/deadlines.ts";
import { Cancellation } from "./batch-signal.ts";
import { RunContext } from "./context.ts";
import type { BatchStart, Run } from "./run.ts";
import type { RunEnvironment } from "./run-environment.ts";
import { failEntries, ignorePlaces, settlePlaces } from "./settle.ts";

export class BatchRun implements Run, SegmentOwner {
  readonly holdsWaiting = false;
  readonly keepsCosts: boolean;
  readonly start: BatchStart;
  slotIndex = 0;
  readonly #environment: RunEnvironment;
  readonly #cancellation: Cancellation = new Cancellation();
  /** The entries of the current call; there from `begin` on. */
  #segment!: Segment;
  /** Halves that have not been tried yet, the next one last. */
  readonly #halves: Segment[] = [];
  #size = 0;
  #waitedMs = 0;
  #attempt = 0;
  /** Goes up with each call, so that an answer to an earlier call is known as late. */
  #call = 0;
  #limit: Timeout | null = null;
  #backoff: Timeout | null = null;
  #error: unknown;
  #isOver = false;
  #isStarting = false;
  #startsAgain = false;
  #holdsSlot = false;
  #grantSlot: (() => void) | null = null;

  constructor(start: BatchStart, environment: RunEnvironment) {
    this.start = start;
    this.#environment = environment;
    this.keepsCosts = environment.measuresAgain;
  }

  get id(): string {
    return `${this.start.idPrefix}${this.start.sequence}`;
  }

  get size(): number {
    return this.#size;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get holdsSlot(): boolean {
    return this.#holdsSlot;
  }

  /** Starts with the entries that were taken for it, after `waitedMs`; `holdsSlot` false: prepares ahead of a slot. */
  begin(segment: Segment, holdsSlot: boolean, waitedMs: number): void {
    this.#segment = segment;
    this.#size = segment.live;
    this.#holdsSlot = holdsSlot;
    this.#waitedMs = waitedMs;
    this.#start();
  }

  /** Gives a batch that was prepared ahead the slot it waits for. */
  grantSlot(): void {
    this.#holdsSlot = true;
    this.#armLimit();
    this.#grantSlot?.();
    this.#grantSlot = null;
  }

  /** Resolves when the batch has a slot. */
  slot(): Promise<void> | undefined {
    if (this.#holdsSlot) return undefined;
    return new Promise((resolve) => {
      this.#grantSlot = resolve;
    });
  }

  /** Gives the slot back before the batch has ended. */
  releaseSlot(): void {
    this.#holdsSlot = false;
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal;
  }

  /** Rejects its callers with CLOSED and aborts. */
  close(now: number): void {
    const error = closedError();
    this.#failAll(error, "rejected", now);
    this.#cancellation.abort(error);
    this.#end();
  }

  /** A caller has left; with the last one goes the reason to run. */
  vacated(): void {
    if (this.#isOver || this.#segment.live > 0 || this.#halves.some((half) => half.live > 0)) return;
    this.#cancellation.abort(new DOMException("Every caller of the batch has gone.", "AbortError"));
    if (this.#backoff !== null || !this.#holdsSlot) this.#end();
  }

  /** Calls the handler, and again for as long as it answers at once and something is left to try. */
  #start(): void {
    this.#startsAgain = true;
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      while (this.#startsAgain) {
        this.#startsAgain = false;
        this.#startOnce();
      }
    } finally {
      this.#isStarting = false;
    }
  }

  /** Calls the handler once it is open. Whoever has left by then is not handed to it. */
  #startOnce(): void {
    this.#attempt += 1;
    this.#call += 1;
    const call = this.#call;
    const opening = this.#environment.opening();
    if (opening === undefined) {
      this.#callHandler(call);
      return;
    }
    opening.then(
      () => {
        if (this.#isOver) return;
        const { live, length } = this.#segment;
        if (live < length) this.#segment = this.#compacted(this.#segment, 0, length);
        if (live === 0) this.#end();
        else this.#callHandler(call);
      },
      (error: unknown) => this.#failed(call, error, false),
    );
  }

  #callHandler(call: number): void {
    const segment = this.#segment;
    if (this.#holdsSlot) this.#armLimit();
    const cost = this.#size === segment.live ? this.start.cost : measureBatch(segment, this.#environment.batchCost);
    const context = new RunContext(this, segment, cost);
    let answer: unknown;
    try {
      answer = this.#environment.call(
        this.#environment.keepsItems ? segment.items.slice() : segment.items,
        context,
        this,
      );
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
    const segment = this.#segment;
    if (this.#isOver || call !== this.#call) {
      ignorePlaces(places);
      return;
    }
    if (resultLength(places) !== segment.length) {
      ignorePlaces(places);
      this.#failed(call, batchResultError(places, segment.length));
      return;
    }
    let late = 0;
    try {
      late = settlePlaces(segment, places as ArrayLike<unknown>, this.#environment, () => {
        if (!this.#isOver && call === this.#call) this.#next();
      });
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    if (late === 0) this.#next();
  }

  #failed(call: number, error: unknown, mayHalve = true): void {
    if (this.#isOver || call !== this.#call) return;
    this.#disarmLimit();
    if (this.#segment.live === 0 || this.#cancellation.isAborted) {
      this.#giveUp(error);
    } else if (this.#retries(error)) {
      if (!this.#isOver) this.#retryLater();
    } else if (mayHalve && this.#environment.isolateFailures && this.#segment.live > 1) {
      this.#halve();
    } else {
      this.#giveUp(error);
    }
  }

  #giveUp(error: unknown): void {
    if (this.#size === this.#segment.length) this.#error = error;
    failEntries(this.#segment, error, "failed", this.#environment, this.#environment.clock.now());
    this.#next();
  }

  #retries(error: unknown): boolean {
    const { retry } = this.#environment;
    if (retry === undefined || this.#attempt >= retry.attempts) return false;
    try {
      return retry.when(error);
    } catch {
      return false;
    }
  }

  #retryLater(): void {
    const backoffMs = this.#environment.retry?.backoffMs ?? 0;
    const again = (): void => {
      this.#backoff = null;
      this.#segment = this.#compacted(this.#segment, 0, this.#segment.length);
      if (this.#segment.live === 0) this.#next();
      else this.#start();
    };
    if (backoffMs === 0) {
      again();
      return;
    }
    const now = this.#environment.clock.now();
    this.#backoff = new Timeout(now + backoffMs, again);
    this.#environment.agenda.add(this.#backoff, now);
  }

  /** Puts the two halves of what failed in the place of the whole. */
  #halve(): void {
    const whole = this.#compacted(this.#segment, 0, this.#segment.length);
    const middle = whole.length >> 1;
    this.#halves.push(this.#compacted(whole, middle, whole.length), this.#compacted(whole, 0, middle));
    this.#next();
  }

  #next(): void {
    this.#disarmLimit();
    for (let half = this.#halves.pop(); half !== undefined; half = this.#halves.pop()) {
      if (half.live === 0) continue;
      this.#segment = half.live === half.length ? half : this.#compacted(half, 0, half.length);
      this.#attempt = 0;
      this.#start();
      return;
    }
    this.#end();
  }

  #compacted(segment: Segment, from: number, to: number): Segment {
    const copy = new Segment(this, segment.priority, segment.epoch, to - from);
    copy.appendFrom(segment, from, to);
    copy.trim();
    segment.watch?.end();
    this.#environment.watchDeadlines(copy);
    return copy;
  }

  #armLimit(): void {
    const { handlerTimeoutMs, agenda, clock } = this.#environment;
    if (handlerTimeoutMs === Number.POSITIVE_INFINITY) return;
    this.#disarmLimit();
    const now = clock.now();
    this.#limit = new Timeout(now + handlerTimeoutMs, () => this.#timedOut(handlerTimeoutMs));
    agenda.add(this.#limit, now);
  }

  #disarmLimit(): void {
    this.#limit?.cancel(this.#environment.agenda);
    this.#limit = null;
  }

  #timedOut(handlerTimeoutMs: number): void {
    this.#error = handlerTimeoutError(handlerTimeoutMs, this.#segment.length);
    this.#failAll(this.#error, "failed", this.#environment.clock.now());
    this.#cancellation.abort(this.#error);
    this.#end();
  }

  #failAll(error: unknown, outcome: FailedOutcome, now: number): void {
    for (const segment of [this.#segment, ...this.#halves])
      failEntries(segment, error, outcome, this.#environment, now);
    this.#halves.length = 0;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#disarmLimit();
    this.#backoff?.cancel(this.#environment.agenda);
    const now = this.#environment.clock.now();
    const runMs = now - this.start.startedAt;
    this.#environment.ended(this, { runMs, waitMs: this.#waitedMs, error: this.#error }, now);
  }
}
