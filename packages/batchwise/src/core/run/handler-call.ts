// One call to the handler, for the entries of a batch that are left then: its own signal, context and time limit. It calls
// the stages, gives each caller its own place of the answer, and tells the run how it ended; what follows is the run's
// decision. An answer counts for as long as the call is the run's present one.

import { batchResultError, handlerTimeoutError, resultLength } from "../contract/errors.ts";
import type { BatchWatch } from "../contract/observer.ts";
import { isThenable } from "../contract/thenable.ts";
import { itemsOf } from "../policy/batch-cost.ts";
import type { Entry } from "../queue/entry.ts";
import type { CallingBatch } from "../submit/self-calls.ts";
import { Timeout } from "../time/deadlines.ts";
import { BatchSignal } from "./batch-signal.ts";
import { CallContext, type CalledBatch } from "./context.ts";
import type { Evidence } from "./evidence.ts";
import type { CallEnvironment } from "./run-owner.ts";
import { ignorePlaces, type SettledBatch, Settling } from "./settle.ts";

/** The batch that calls. */
export interface CallingRun extends CalledBatch, SettledBatch, CallingBatch {
  /** Null before the handler is called, and when that call has ended. */
  readonly call: HandlerCall | null;
  readonly watch: BatchWatch | null;
  readonly evidence: Evidence;
  /** Gives the slot back before the batch has ended. */
  releaseSlot(): void;
  /** Each caller of the call has its answer. */
  callSucceeded(now: number): void;
  /** The call has failed as a whole. `late`: the call, where it may run on past its time limit. */
  callFailed(error: unknown, late: HandlerCall | null): void;
}

const NO_ENTRIES: readonly Entry[] = [];

export class HandlerCall {
  #entries: readonly Entry[];
  readonly #run: CallingRun;
  readonly #environment: CallEnvironment;
  readonly #signal: BatchSignal = new BatchSignal();
  #context: CallContext | null;
  #hasRun = false;
  #limit: Timeout | null = null;
  #grant: (() => void) | null = null;

  constructor(run: CallingRun, entries: readonly Entry[], cost: number, environment: CallEnvironment) {
    this.#run = run;
    this.#entries = entries;
    this.#environment = environment;
    this.#context = new CallContext(run, this.#signal, entries, cost);
  }

  /** Calls the handler. To be called once, when it is the run's present call. */
  begin(): void {
    const { holdsSlot, watch } = this.#run;
    if (holdsSlot) this.#armLimit();
    let answer: unknown;
    try {
      const ask = (): unknown => this.#run.selfCalls.call(this.#run, () => this.#ask());
      answer = watch === null ? ask() : watch.around(ask);
      if (isThenable(answer)) {
        Promise.resolve(answer).then(
          (places) => this.#answered(places),
          (error: unknown) => this.#failed(error),
        );
        return;
      }
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#answered(answer);
  }

  /** Goes on with the slot that its batch has got. */
  grantSlot(): void {
    this.#armLimit();
    this.#grant?.();
  }

  /** Listeners of the signal are the handler's: they run in the batcher's own async context, not in a caller's. */
  abort(reason: unknown): void {
    this.#environment.inContext(() => this.#signal.abort(reason));
  }

  /**
   * It has ended, or its batch has. It may run on: what it reads of the requests is read before they are forgotten, and
   * its promise holds nothing of the callers.
   */
  end(): void {
    this.#limit?.clear();
    if (this.#environment.keepsTaken) this.#context?.keepRequests();
    this.#context = null;
    this.#entries = NO_ENTRIES;
  }

  /** True for a call that was aborted before `run`: how long it took shows nothing. */
  get isCalledOff(): boolean {
    return this.#signal.isAborted && !this.#hasRun;
  }

  /** True where nobody waits for its answer any more. */
  get #isOver(): boolean {
    return this.#run.isOver || this.#run.call !== this;
  }

  #armLimit(): void {
    const { options, services } = this.#environment;
    const { handlerTimeoutMs } = options;
    if (handlerTimeoutMs === Infinity) return;
    this.#limit = new Timeout(services.deadlines);
    this.#limit.start(handlerTimeoutMs, () => {
      this.#run.callFailed(handlerTimeoutError(services.name, handlerTimeoutMs, this.#entries.length), this);
    });
  }

  #ask(): unknown {
    const { prepare, run, finish } = this.#environment.stages;
    const items = itemsOf(this.#entries);
    const context = this.#context as CallContext;
    if (prepare === undefined && finish === undefined) {
      this.#hasRun = true;
      return run(items, context);
    }
    return this.#callStages(items, context);
  }

  async #callStages(items: unknown[], context: CallContext): Promise<unknown> {
    const { stages, options } = this.#environment;
    const { prepare, run, finish } = stages;
    const { prefetch, retry, isolateFailures } = options;
    const input = prepare === undefined ? items : await prepare(items, context);
    if (!this.#signal.isAborted) await this.#slot();
    if (this.#signal.isAborted) throw this.#signal.signal.reason;
    this.#hasRun = true;
    const output = await run(input, context);
    if (finish === undefined || this.#isOver) return output;
    // With `prefetch`, a batch finishes without its slot, unless the handler may be called again for it.
    const isLast = prefetch > 0 && retry === undefined && !isolateFailures;
    if (isLast && this.#run.holdsSlot) this.#run.releaseSlot();
    return finish(output, context);
  }

  /** Resolves when the batch has a slot; undefined where it has one. */
  #slot(): Promise<void> | undefined {
    if (this.#run.holdsSlot) return undefined;
    const { clock } = this.#environment.services;
    const preparedAt = clock.now();
    return new Promise((resolve) => {
      this.#grant = () => {
        this.#run.evidence.noteHeld(clock.now() - preparedAt);
        resolve();
      };
    });
  }

  #answered(places: unknown): void {
    const entries = this.#entries;
    const { services } = this.#environment;
    if (this.#isOver) {
      ignorePlaces(places);
    } else if (resultLength(places) !== entries.length) {
      ignorePlaces(places);
      this.#failed(batchResultError(services.name, places, entries.length));
    } else {
      const settling = new Settling(entries, this.#run, services, (now) => {
        if (!this.#isOver) this.#run.callSucceeded(now);
      });
      // Reading a place may take so long that the call is over.
      const isSettled = settling.settle(places as ArrayLike<unknown>) === 0;
      if (isSettled && !this.#isOver) this.#run.callSucceeded(settling.now);
    }
  }

  #failed(error: unknown): void {
    if (!this.#isOver) this.#run.callFailed(error, null);
  }
}
