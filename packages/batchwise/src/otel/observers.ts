// All observers of one batcher. A meter and a tracer are the user's: an error that they throw
// becomes a warning and does not stop the other observers.

import type { BatchEvent, RunningBatch } from "../core/contract/events.ts";
import type { BatchObserver, BatchWatch, Observable, ObservedBatch, ObservedItem } from "../core/contract/observer.ts";
import { OBSERVE } from "../core/contract/observer.ts";
import type { ItemOutcome } from "../core/contract/outcome.ts";
import { attempt } from "../core/contract/thenable.ts";

/** A batch that is about to run. */
export interface StartedBatch extends Omit<RunningBatch, "startedAt"> {
  /** The wait of each of its items, in milliseconds. */
  readonly waitedMs: readonly number[];
  /** The longest wait, in milliseconds. */
  readonly waitMs: number;
  /** The return values of this observer's `capture` for the batch's callers. */
  readonly captured: readonly unknown[];
}

/** One observer of a batcher. */
export interface Observer {
  /** Called inside each submit, in the caller's async context. */
  readonly capture: (() => unknown) | undefined;
  started(batch: StartedBatch): BatchWatch;
  settled(outcome: ItemOutcome, latencyMs: number, times: number, error?: unknown): void;
  spared(by: "dedupe" | "cache", callers: number): void;
}

/** Observes until the returned function is called. */
export function observe(batcher: Observable, observer: Observer): () => void {
  batcher[OBSERVE]((before, warn) => {
    return new Observers([...allOf(before), observer], warn);
  });
  return () => {
    batcher[OBSERVE]((before, warn) => {
      const left = allOf(before).filter((other) => other !== observer);
      return left.length === 0 ? null : new Observers(left, warn);
    });
  };
}

/** The key under which another copy of the package finds the observers. */
const ALL: unique symbol = Symbol.for("batchwise.otel.1.observers");

function allOf(before: BatchObserver | null): readonly Observer[] {
  return before !== null && ALL in before ? (before as Observers)[ALL] : [];
}

/** The value that one observer captured for one caller. */
interface Captured {
  readonly observer: Observer;
  readonly value: unknown;
}

class Observers implements BatchObserver {
  readonly [ALL]: readonly Observer[];
  readonly capture: ((before: unknown) => readonly Captured[]) | undefined;
  readonly #warn: (error: unknown) => void;

  constructor(all: readonly Observer[], warn: (error: unknown) => void) {
    this[ALL] = all;
    this.#warn = warn;
    const captures = all.some(({ capture }) => capture !== undefined);
    this.capture = captures ? (before) => this.#capture(before as readonly Captured[] | undefined) : undefined;
  }

  started(
    { id, key, size, cost, reason, startedAt }: ObservedBatch,
    items: readonly ObservedItem[],
    waitMs: number,
  ): BatchWatch {
    const waitedMs = items.map(({ moment }) => startedAt - moment.at);
    const captured = items.flatMap((item) => (item.facts.captured as readonly Captured[] | undefined) ?? []);
    const watches: BatchWatch[] = [];
    for (const observer of this[ALL]) {
      const own = captured.filter((one) => one.observer === observer).map(({ value }) => value);
      const batch = { id, key, size, cost, reason, waitedMs, waitMs, captured: own };
      const watch = this.#guard(() => observer.started(batch));
      if (watch !== undefined) watches.push(watch);
    }
    return {
      around: (call) => watches.reduce((inner, watch) => () => watch.around(inner), call)(),
      ended: (event: BatchEvent) => {
        for (const watch of watches) this.#guard(() => watch.ended(event));
      },
    };
  }

  settled(outcome: ItemOutcome, latencyMs: number, times: number, error?: unknown): void {
    for (const observer of this[ALL]) this.#guard(() => observer.settled(outcome, latencyMs, times, error));
  }

  spared(by: "dedupe" | "cache", callers: number): void {
    for (const observer of this[ALL]) this.#guard(() => observer.spared(by, callers));
  }

  #capture(before: readonly Captured[] = []): readonly Captured[] {
    const captured = [...before];
    for (const observer of this[ALL]) {
      const { capture } = observer;
      const value = capture === undefined ? undefined : this.#guard(capture);
      if (value !== undefined) captured.push({ observer, value });
    }
    return captured;
  }

  #guard<Value>(use: () => Value): Value | undefined {
    let value: Value | undefined;
    attempt(() => {
      value = use();
    }, this.#warn);
    return value;
  }
}
