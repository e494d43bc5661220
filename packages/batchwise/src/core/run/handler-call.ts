// One call to the handler, for the entries of a batch that are left then: its own signal, its own context. An answer counts
// for as long as it is the run's present call.

import type { Entry } from "../queue/entry.ts";
import { BatchSignal } from "./batch-signal.ts";
import { CallContext, type CalledBatch } from "./context.ts";
import type { CallingBatch } from "./handler-calls.ts";

/** The batch that calls. */
export interface CallingRun extends CalledBatch {
  readonly isOver: boolean;
  readonly holdsSlot: boolean;
  /** Null before the handler is called, and when that call has ended. */
  readonly call: HandlerCall | null;
  releaseSlot(): void;
}

export class HandlerCall implements CallingBatch {
  readonly entries: readonly Entry[];
  readonly signal: BatchSignal = new BatchSignal();
  readonly context: CallContext;
  readonly #run: CallingRun;
  #grant: (() => void) | null = null;

  constructor(run: CallingRun, entries: readonly Entry[], cost: number) {
    this.#run = run;
    this.entries = entries;
    this.context = new CallContext(run, this.signal, entries, cost);
  }

  get isOver(): boolean {
    return this.#run.isOver || this.#run.call !== this;
  }

  get holdsSlot(): boolean {
    return this.#run.holdsSlot;
  }

  slot(): Promise<void> | undefined {
    if (this.holdsSlot) return undefined;
    return new Promise((resolve) => {
      this.#grant = resolve;
    });
  }

  /** Its batch has got the slot that it waits for. */
  slotGranted(): void {
    this.#grant?.();
    this.#grant = null;
  }

  releaseSlot(): void {
    this.#run.releaseSlot();
  }
}
