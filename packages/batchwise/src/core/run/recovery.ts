// What follows a failed call of a batch: further calls for the same entries (`retry`), with pauses
// between them, and a call for each half of them (`isolateFailures`). A batch makes it with its
// first failure.

import { nameError } from "../contract/errors.ts";
import { type Entry, liveOf } from "../queue/entry.ts";
import { Timeout } from "../time/deadlines.ts";
import type { BatchOwner } from "./batch-owner.ts";
import { failEntries } from "./places.ts";
import { askedPause, backoffOf, isWorthRetrying } from "./retry-policy.ts";

/** The part of a batch that its recovery needs. */
export interface RecoveringBatch {
  /** The entries of the last call, or of the next one. */
  entries: readonly Entry[];
  phase: "starting" | "opening" | "calling" | "pausing" | "done";
  readonly isOver: boolean;
  callMs: number | undefined;
  noteSettled(count: number): void;
  /** Opens and calls the handler. */
  start(): void;
  end(now?: number): void;
}

export class Recovery<Batch extends RecoveringBatch> {
  readonly #batch: Batch;
  readonly #owner: BatchOwner<Batch>;
  /** Untried halves, the next one last. */
  #halves: (readonly Entry[])[] = [];
  /** Number of failed calls for the current entries. */
  #attempt = 0;
  readonly #pause: Timeout;
  /** True once calls for halves have followed a call. */
  isSplit = false;
  /** True once the batch, or a half of it, has failed after all attempts. */
  hasFailed = false;
  /** The error that failed the whole batch. */
  error: unknown;

  constructor(batch: Batch, owner: BatchOwner<Batch>) {
    this.#batch = batch;
    this.#owner = owner;
    this.#pause = new Timeout(owner.services.deadlines);
  }

  /**
   * After a failed call: calls again, calls for each half, or gives up. `mayHalve`: false if the
   * handler did not open.
   */
  failed(error: unknown, mayHalve: boolean): void {
    const { services } = this.#owner;
    const { retry, isolateFailures } = services.options;
    const called = this.#batch.entries;
    this.#attempt += 1;
    nameError(error, services.name);
    const askedMs = askedPause(error, services);
    // The functions of `retry` are the user's: after each, callers may have left, or the batch may
    // have ended.
    const isWanted = (): boolean => liveOf(called).length > 0;
    const isRetried = isWanted() && isWorthRetrying(retry, this.#attempt, error, services.events);
    const backoffMs = isRetried && isWanted() ? backoffOf(retry?.backoffMs ?? 0, this.#attempt, error, services) : 0;
    const entries = liveOf(called);
    if (this.#batch.isOver) return;
    if (isRetried && entries.length > 0) this.#retry(Math.max(askedMs, backoffMs));
    else if (!isRetried && mayHalve && isolateFailures && entries.length > 1) this.#halve(entries, askedMs);
    else {
      this.reject(error);
      this.next(askedMs);
    }
  }

  #halve(entries: readonly Entry[], pauseMs: number): void {
    this.isSplit = true;
    const middle = entries.length >> 1;
    this.#halves.push(entries.slice(middle), entries.slice(0, middle));
    this.next(pauseMs);
  }

  /** The entries of all untried halves. */
  get untried(): readonly Entry[] {
    return this.#halves.flat();
  }

  /**
   * Continues with the next half that has live entries after a pause, or ends the batch. Each half
   * is a call for a limiter, and its attempts count from 0.
   */
  next(pauseMs: number, now?: number): void {
    this.#attempt = 0;
    const half = this.#halves.pop();
    if (half === undefined) {
      this.#batch.end(now);
      return;
    }
    const live = liveOf(half);
    if (live.length === 0) {
      this.next(pauseMs, now);
      return;
    }
    this.#batch.entries = live;
    this.#retry(pauseMs);
  }

  /** Calls again: at once without pause and limiter, else in the next free slot after the pause. */
  #retry(pauseMs: number): void {
    const { services } = this.#owner;
    const batch = this.#batch;
    batch.callMs = undefined;
    if (pauseMs === 0 && services.options.limiter === undefined) {
      batch.start();
      return;
    }
    batch.phase = "pausing";
    this.#owner.paused(batch, pauseMs === 0);
    // The last caller may have left, so the slot may be used at once.
    if (pauseMs > 0 && !this.#batch.isOver) this.#pause.start(pauseMs, () => this.#owner.wantsSlot(batch));
  }

  /** Rejects the callers of the current entries, which are not tried again. */
  reject(error: unknown): void {
    this.hasFailed = true;
    if (!this.isSplit) this.error = error;
    failEntries(this.#batch.entries, error, "failed", this.#batch, this.#owner.services);
  }

  /** Ends it with the batch. */
  end(): void {
    this.#halves = [];
    this.#pause.clear();
  }
}
