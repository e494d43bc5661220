// Event listeners of the dispatcher. They are the user's functions and are called in order, after
// the emitting code has finished its step, never inside it. So a listener cannot disturb a call of
// the dispatcher. Events without a listener are not created.

import { attempt } from "../../core/contract/thenable.ts";
import { aFunction, check, invalidOption } from "../../core/contract/validate.ts";
import {
  type DispatcherEventName,
  type DispatcherEvents,
  type DispatcherListener,
  EVENT_NAMES,
} from "../contract/events.ts";

interface Listening {
  readonly listener: (event: never) => unknown;
  isOff: boolean;
}

export class Events {
  readonly #failed: (error: unknown) => void;
  readonly #blanked: (event: unknown) => unknown;
  readonly #listeners: Map<DispatcherEventName, readonly Listening[]> = new Map();
  /** Emitted events that are not delivered yet. */
  #waiting: (() => void)[] = [];

  /** `failed` gets errors of listeners. `blanked` removes secrets from an event. */
  constructor(failed: (error: unknown) => void, blanked: (event: unknown) => unknown = (event) => event) {
    this.#failed = failed;
    this.#blanked = blanked;
  }

  /**
   * Adds a listener and returns a function that removes it. A listener added twice is called twice.
   */
  on<Name extends DispatcherEventName>(name: Name, listener: DispatcherListener<Name>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      const known = EVENT_NAMES.join(", ");
      throw invalidOption(RangeError, `Expected \`event\` to be one of ${known}, got \`${String(name)}\``);
    }
    check("listener", aFunction, listener);
    const added: Listening = { listener, isOff: false };
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), added]);
    return () => {
      added.isOff = true;
      const left = this.#listeners.get(name)?.filter((other) => other !== added) ?? [];
      if (left.length === 0) this.#listeners.delete(name);
      else this.#listeners.set(name, left);
    };
  }

  hears(name: DispatcherEventName): boolean {
    return this.#listeners.has(name);
  }

  /** Notifies the current listeners. Without one, `make` is not called. */
  emit<Name extends DispatcherEventName>(name: Name, make: () => DispatcherEvents[Name]): void {
    const listening = this.#listeners.get(name);
    if (listening === undefined) return;
    const event = this.#blanked(make());
    this.#waiting.push(() => this.#tell(name, listening, event));
    if (this.#waiting.length === 1) queueMicrotask(() => this.#tellAll());
  }

  #tellAll(): void {
    const waiting = this.#waiting;
    // Events that listeners cause are delivered later, in a turn of their own.
    this.#waiting = [];
    for (const tell of waiting) tell();
  }

  #tell(name: DispatcherEventName, listening: readonly Listening[], event: unknown): void {
    for (const one of listening) {
      if (one.isOff) continue;
      attempt(
        () => one.listener(event as never),
        (error) => this.#failed(new Error(`A listener of "${name}" threw.`, { cause: error })),
      );
    }
  }
}
