// The events of a batcher and its list of listeners. Listeners are the user's functions: a listener
// that throws or rejects is reported as a warning and does not stop the others.

import { type Clock, type InContext, systemClock } from "../time/clock.ts";
import { inName } from "./errors.ts";
import type { BatchReason, ItemOutcome } from "./outcome.ts";
import { attempt } from "./thenable.ts";
import { UnheardWarnings } from "./unheard-warnings.ts";

/** A running batch. */
export interface RunningBatch {
  readonly id: string;
  readonly key: string | undefined;
  /** Number of items when the handler was called. */
  readonly size: number;
  readonly cost: number;
  readonly reason: BatchReason;
  /** When the handler was called: ms since 1970, or the time of an injected clock. */
  readonly startedAt: number;
}

/** A batch that has ended. */
export interface BatchEvent extends RunningBatch {
  /** Duration of the batch, in ms. */
  readonly runMs: number;
  /**
   * Duration that `targetLatencyMs` predicted for the call when the batch started, in ms. null
   * without that option and before its first batches have ended.
   */
  readonly predictedMs: number | null;
  /** Wait of its oldest item, in ms. */
  readonly waitMs: number;
  /** The error that failed the whole batch; undefined if there was none. */
  readonly error: unknown;
}

/** A settled item. */
export interface ItemEvent {
  readonly outcome: ItemOutcome;
  /** From submit to answer, in ms. */
  readonly latencyMs: number;
}

/**
 * The subject of a warning. `LISTENER_FAILED`, `CACHE_FAILED`, `LIMITER_FAILED`: a function of the
 * user threw, rejected or returned an invalid value. `RETRY_FAILED`: `retry.when` or
 * `retry.backoffMs` threw or returned an invalid value. `OPTIONS`: a combination of options has an
 * unexpected effect. `STREAM_BLOCKED`: a batch of streams has waited a second for callers that do
 * not read; read the streams of a batch concurrently, or raise `maxBufferedChunks`.
 * `OBSERVER_FAILED`: the meter or tracer of `batchwise/otel` threw. `CACHE_NULL`: a null result is
 * not stored, see `cache.nullIsResult`. `HELD_AT_EXIT`: items held by `maxWaitMs: Infinity` were
 * sent because the process was about to end; call `flush()` or `close()` after the last submit.
 * Items of a paused batcher are lost; call `resume()` or `close()`. `SELF_CALL`: for 1 s every slot
 * was taken by a batch whose handler has submitted to its own batcher, or to another whose handlers
 * submitted to it; or a handler submitted an item equal to one of its own batch, or called
 * `close()` or `idle()` of its own batcher. If the handler awaits that, it never ends.
 */
export type WarningCode =
  | "LISTENER_FAILED"
  | "CACHE_FAILED"
  | "CACHE_NULL"
  | "LIMITER_FAILED"
  | "RETRY_FAILED"
  | "OBSERVER_FAILED"
  | "OPTIONS"
  | "HELD_AT_EXIT"
  | "SELF_CALL"
  | "STREAM_BLOCKED";

/** A problem that the batcher survived and its owner should know. */
export interface WarningEvent {
  readonly code: WarningCode;
  readonly message: string;
  readonly cause: unknown;
}

/** The event objects by event name. */
export interface BatcherEvents {
  readonly batch: BatchEvent;
  readonly item: ItemEvent;
  readonly warning: WarningEvent;
}

/** Names of events for `on`. */
export type EventName = keyof BatcherEvents;
/** A listener of one event. An error that it throws becomes a warning. */
export type Listener<Name extends EventName> = (event: BatcherEvents[Name]) => void;

type AnyListener = (event: never) => unknown;

/** Maximum warnings kept for the first listener. */
const KEPT_WARNINGS = 16;

const HOW_TO_LISTEN = 'Printed once a code. `on("warning", listener)` hears every warning, and none is printed then.';

/**
 * The name with which warnings are printed. null: the clock is injected, as in tests, and nothing
 * is printed.
 */
export function printedName({ name, clock }: { readonly name: string; readonly clock: Clock }): string | null {
  return clock === systemClock ? name : null;
}

export class Events {
  readonly #inContext: InContext;
  readonly #name: string | null;
  /** Created with the first listener. */
  #listeners: Partial<Record<EventName, readonly AnyListener[]>> | null = null;
  #kept: WarningEvent[] | null = null;
  /** The subjects that `warnOnce` has already warned about. */
  #warnedOf: Set<string> | null = null;
  /** Created with the first warning. */
  #unheard: UnheardWarnings | null = null;

  /** `inContext`: runs listeners in its async context. `name`: see `printedName`. */
  constructor(inContext: InContext, name: string | null) {
    this.#inContext = inContext;
    this.#name = name;
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    const added: AnyListener = (event) => listener(event);
    this.#listeners ??= {};
    const all = this.#listeners;
    all[name] = [...(all[name] ?? []), added];
    if (name === "warning" && this.#kept !== null) {
      const kept = this.#kept;
      this.#kept = null;
      for (const warning of kept) this.emit("warning", warning);
    }
    return () => {
      all[name] = all[name]?.filter((other) => other !== added) ?? [];
    };
  }

  hears(name: EventName): boolean {
    return this.#listeners !== null && (this.#listeners[name]?.length ?? 0) > 0;
  }

  emit<Name extends EventName>(name: Name, event: BatcherEvents[Name]): void {
    for (const listener of this.#listeners?.[name] ?? []) {
      this.#inContext(() =>
        attempt(
          () => listener(event as never),
          (error) => {
            if (name !== "warning") this.warn("LISTENER_FAILED", `A listener of "${name}" threw.`, error);
          },
        ),
      );
    }
  }

  warn(code: WarningCode, message: string, cause?: unknown): void {
    const warning = { code, message, cause };
    if (this.hears("warning")) {
      this.emit("warning", warning);
      return;
    }
    this.#kept ??= [];
    if (this.#kept.length < KEPT_WARNINGS) this.#kept.push(warning);
    if (this.#name === null) return;
    this.#unheard ??= new UnheardWarnings(() => this.#kept === null, HOW_TO_LISTEN);
    const [unheard, text] = [this.#unheard, inName(this.#name, message, "A batcher without `name`: ")];
    this.#inContext(() => unheard.add(code, text));
  }

  /** The same, at most once for each `about`. Makes the message when it warns. */
  warnOnce(about: string, code: WarningCode, message: () => string): void {
    if (this.#warnedOf?.has(about)) return;
    this.#warnedOf ??= new Set();
    this.#warnedOf.add(about);
    this.warn(code, message());
  }
}
