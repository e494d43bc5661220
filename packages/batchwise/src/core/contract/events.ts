// What a batcher tells its listeners. Listeners are the user's functions: one that throws, or whose promise rejects,
// is reported as a warning and disturbs nobody else.

import type { BatchReason, ItemOutcome } from "./outcome.ts";
import { isThenable } from "./thenable.ts";

/** A batch that has ended. */
export interface BatchEvent {
  readonly id: string;
  readonly key: string | undefined;
  readonly reason: BatchReason;
  /** Items in it when it was handed to the handler. */
  readonly size: number;
  readonly cost: number;
  /** Clock time at which it was handed to the handler, and how long it ran. */
  readonly startedAt: number;
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
 * What a warning is about. `LISTENER_FAILED`: a listener threw or rejected. `CACHE_FAILED`: the cache did; the item
 * counts as not cached. `STREAM_BLOCKED`: a batch of streams has waited a second for callers who do not read; read the
 * streams of a batch concurrently, or raise `maxBufferedChunks`.
 */
export type WarningCode = "LISTENER_FAILED" | "CACHE_FAILED" | "STREAM_BLOCKED";

/** Something that the batcher could live with and that its owner should know. */
export interface WarningEvent {
  readonly code: WarningCode;
  readonly message: string;
  readonly cause: unknown;
}

export interface BatcherEvents {
  readonly batch: BatchEvent;
  readonly item: ItemEvent;
  readonly warning: WarningEvent;
}

export type EventName = keyof BatcherEvents;
export type Listener<Name extends EventName> = (event: BatcherEvents[Name]) => void;

type AnyListener = (event: never) => unknown;

export class Events {
  readonly #listeners: Record<EventName, readonly AnyListener[]> = { batch: [], item: [], warning: [] };

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    const added: AnyListener = (event) => listener(event);
    this.#listeners[name] = [...this.#listeners[name], added];
    return () => {
      this.#listeners[name] = this.#listeners[name].filter((other) => other !== added);
    };
  }

  hears(name: EventName): boolean {
    return this.#listeners[name].length > 0;
  }

  emit<Name extends EventName>(name: Name, event: BatcherEvents[Name]): void {
    for (const listener of this.#listeners[name]) this.#call(name, listener, event);
  }

  warn(code: WarningCode, message: string, cause?: unknown): void {
    this.emit("warning", { code, message, cause });
  }

  #call(name: EventName, listener: AnyListener, event: unknown): void {
    try {
      const returned = listener(event as never);
      if (isThenable(returned)) Promise.resolve(returned).catch((error: unknown) => this.#failed(name, error));
    } catch (error) {
      this.#failed(name, error);
    }
  }

  #failed(name: EventName, error: unknown): void {
    if (name !== "warning") this.warn("LISTENER_FAILED", `A listener of "${name}" threw.`, error);
  }
}
