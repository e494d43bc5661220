// What a batcher tells its listeners, and the list of them. Listeners are the user's functions: one
// that throws, or whose promise rejects, is reported as a warning and does not stop other
// listeners.

import { type Clock, type InContext, systemClock } from "../time/clock.ts";
import { inName } from "./errors.ts";
import type { BatchReason, ItemOutcome } from "./outcome.ts";
import { attempt } from "./thenable.ts";
import { UnheardWarnings } from "./unheard-warnings.ts";

/** A batch that is running now. */
export interface RunningBatch {
  readonly id: string;
  readonly key: string | undefined;
  /** Items in it when it was handed to the handler. */
  readonly size: number;
  readonly cost: number;
  readonly reason: BatchReason;
  /** When it was handed to the handler: epoch milliseconds, or an injected clock's own time. */
  readonly startedAt: number;
}

/** A batch that has ended. */
export interface BatchEvent extends RunningBatch {
  /** How long it ran. */
  readonly runMs: number;
  /** How long its oldest item had waited. */
  readonly waitMs: number;
  /** The error that failed the batch as a whole; undefined where there was none. */
  readonly error: unknown;
}

/** An item that has been settled. */
export interface ItemEvent {
  readonly outcome: ItemOutcome;
  /** From submit to answer. */
  readonly latencyMs: number;
}

/**
 * What a warning is about. `LISTENER_FAILED`, `CACHE_FAILED`, `LIMITER_FAILED`: a function of the
 * user threw, rejected or answered what it may not. `RETRY_FAILED`: an option of `retry` did.
 * `OPTIONS`: options that do together what they do not seem to. `STREAM_BLOCKED`: a batch of
 * streams has waited a second for callers who do not read; read the streams of a batch
 * concurrently, or raise `maxBufferedChunks`. `OBSERVER_FAILED`: the meter or tracer of
 * `batchwise/otel` threw. `CACHE_NULL`: a result that is null is not stored, see
 * `cache.nullIsResult`. `HELD_AT_EXIT`: items that `maxWaitMs: Infinity` held were sent because the
 * process was about to end; call `flush()` or `close()` after the last submit. Those of a paused
 * batcher are lost; call `resume()` or `close()`. `SELF_CALL`: for 1 s every slot was taken by a
 * batch whose handler has submitted to its own batcher, or to another whose handlers submitted to
 * it; or a handler had submitted an item equal to one of its own batch, or called `close()` or
 * `idle()` of its own batcher. Where it awaits that, none of them ends.
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

/** Something that the batcher could live with and that its owner should know. */
export interface WarningEvent {
  readonly code: WarningCode;
  readonly message: string;
  readonly cause: unknown;
}

/** What a listener of each event gets. */
export interface BatcherEvents {
  readonly batch: BatchEvent;
  readonly item: ItemEvent;
  readonly warning: WarningEvent;
}

/** What `on` listens to. */
export type EventName = keyof BatcherEvents;
/** A function that hears one event. What it throws becomes a warning. */
export type Listener<Name extends EventName> = (event: BatcherEvents[Name]) => void;

type AnyListener = (event: never) => unknown;

/** Warnings without a listener are kept for the first listener, so many of them. */
const KEPT_WARNINGS = 16;

const HOW_TO_LISTEN = 'Printed once a code. `on("warning", listener)` hears every warning, and none is printed then.';

/**
 * The name under which a batcher's warnings are printed; null on a clock of its own, as in tests:
 * none is printed.
 */
export function printedName({ name, clock }: { readonly name: string; readonly clock: Clock }): string | null {
  return clock === systemClock ? name : null;
}

export class Events {
  readonly #inContext: InContext;
  readonly #name: string | null;
  /** Made with the first listener. */
  #listeners: Partial<Record<EventName, readonly AnyListener[]>> | null = null;
  #kept: WarningEvent[] | null = null;
  /** Made with the first warning. */
  #unheard: UnheardWarnings | null = null;

  /** Listeners run in the async context of `inContext`. `name`: see `printedName`. */
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
          (error) => this.#failed(name, error),
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
    const [unheard, text] = [this.#unheard, inName(this.#name, message)];
    this.#inContext(() => unheard.add(code, text));
  }

  #failed(name: EventName, error: unknown): void {
    if (name !== "warning") this.warn("LISTENER_FAILED", `A listener of "${name}" threw.`, error);
  }
}
