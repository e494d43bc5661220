// Observers watch a batcher from the inside, for metrics and traces: they see each batch before its handler is called,
// and run inside the submit and around the handler. A batcher without observers pays one comparison a batch.
//
// Unlike listeners of `on`, observers are code of this package. What they throw is a warning all the same: the meter or
// the tracer behind them is the user's.

import type { BatchEvent, Events, RunningBatch } from "./events.ts";
import type { ItemOutcome } from "./outcome.ts";
import { attempt } from "./thenable.ts";

/** The name of the method that adds an observer. Registered, so that it is the same in two copies of the package. */
export const OBSERVE: unique symbol = Symbol.for("batchwise.observe");

/** A batch that is about to run. */
export interface StartedBatch extends RunningBatch {
  /** How long each of its items has waited, in milliseconds. */
  readonly waitedMs: readonly number[];
  /** The longest of these. */
  readonly waitMs: number;
  /** What this observer's `capture` returned for its callers. */
  readonly captured: readonly unknown[];
}

/** Watches one batch. */
export interface BatchWatch {
  /** Calls the handler by calling `call` once, and returns what that returns. Called again for retries and halves. */
  around<Answer>(call: () => Answer): Answer;
  ended(event: BatchEvent): void;
}

export interface BatchObserver {
  /**
   * Called inside each submit, in the caller's async context. What it returns comes back in `captured` of the item's
   * batch, unless it is undefined.
   */
  readonly capture?: (() => unknown) | undefined;
  /** Called before the handler. */
  started(batch: StartedBatch): BatchWatch;
  /** So many items have ended in one way, so long after their submit. */
  settled(outcome: ItemOutcome, latencyMs: number, times: number): void;
  /** So many callers need no place of their own: they share that of an equal item, or the cache has their answer. */
  spared(by: "dedupe" | "cache", callers: number): void;
}

/** What every batcher has beside its public members. */
export interface Observable {
  /** Observes until the function that it returns is called. */
  readonly [OBSERVE]: (observer: BatchObserver) => () => void;
}

/** What `capture` of one observer returned for one caller. */
export interface Captured {
  readonly observer: BatchObserver;
  readonly value: unknown;
}

export class Observers {
  readonly #events: Events;
  #all: readonly BatchObserver[] = [];
  /** True while an observer captures something of each submit. */
  captures = false;

  constructor(events: Events) {
    this.#events = events;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Observes until the function that it returns is called. */
  add(observer: BatchObserver): () => void {
    this.#set([...this.#all, observer]);
    return () => this.#set(this.#all.filter((other) => other !== observer));
  }

  /** What was captured for the callers of an item so far, and for one more. */
  capture(before: readonly Captured[] | undefined): readonly Captured[] | undefined {
    const captured = [...(before ?? [])];
    for (const observer of this.#all) {
      const { capture } = observer;
      if (capture === undefined) continue;
      const value = this.#guard(capture);
      if (value !== undefined) captured.push({ observer, value });
    }
    return captured.length === 0 ? undefined : captured;
  }

  /** Tells that a batch is about to run. What it returns watches for all observers. */
  started(batch: Omit<StartedBatch, "captured">, captured: readonly Captured[]): BatchWatch {
    const watches: BatchWatch[] = [];
    for (const observer of this.#all) {
      const own = captured.filter((one) => one.observer === observer).map(({ value }) => value);
      const watch = this.#guard(() => observer.started({ ...batch, captured: own }));
      if (watch !== undefined) watches.push(watch);
    }
    return {
      around: (call) => watches.reduce((inner, watch) => () => watch.around(inner), call)(),
      ended: (event) => {
        for (const watch of watches) this.#guard(() => watch.ended(event));
      },
    };
  }

  settled(outcome: ItemOutcome, latencyMs: number, times: number): void {
    for (const observer of this.#all) this.#guard(() => observer.settled(outcome, latencyMs, times));
  }

  spared(by: "dedupe" | "cache", callers: number): void {
    for (const observer of this.#all) this.#guard(() => observer.spared(by, callers));
  }

  #set(observers: readonly BatchObserver[]): void {
    this.#all = observers;
    this.captures = observers.some(({ capture }) => capture !== undefined);
  }

  #guard<Value>(use: () => Value): Value | undefined {
    let value: Value | undefined;
    attempt(
      () => {
        value = use();
      },
      (error) => this.#events.warn("OBSERVER_FAILED", "A meter or tracer threw.", error),
    );
    return value;
  }
}
