// What a running batch needs of the batcher around it, and how the handler's stages are called.

import type { ResolvedOptions, ResolvedRetry } from "../contract/options.ts";
import type { ItemOutcome } from "../contract/outcome.ts";
import type { BatchContext } from "../contract/types.ts";
import type { Measure } from "../policy/batch-cost.ts";
import type { Segment } from "../queue/segment.ts";
import type { StepColumn } from "../queue/step-column.ts";
import type { Desk } from "../submit/callers.ts";
import { watchDeadlines } from "../submit/segment-deadlines.ts";
import type { InContext, Stages } from "./handler.ts";
import type { Run, RunEnd } from "./run.ts";
import type { Settling } from "./settle.ts";

/** Whoever schedules batches. */
export interface RunOwner {
  /** A batch gave its slot back early, to finish without it. */
  slotReleased(): void;
  ended(run: Run, end: RunEnd, now: number): void;
}

export class RunEnvironment implements Settling {
  readonly #desk: Desk;
  readonly #stages: Stages;
  readonly #inContext: InContext;
  readonly #owner: RunOwner;
  readonly #finishesWithoutSlot: boolean;
  readonly #isPlain: boolean;
  readonly batchCost: Measure<unknown>;
  readonly retry: ResolvedRetry | undefined;
  readonly isolateFailures: boolean;
  readonly handlerTimeoutMs: number;
  #opening: Promise<unknown> | null = null;
  #isOpen = false;

  constructor(desk: Desk, stages: Stages, inContext: InContext, options: ResolvedOptions, owner: RunOwner) {
    this.#desk = desk;
    this.#stages = stages;
    this.#inContext = inContext;
    this.#owner = owner;
    const mayCallAgain = options.retry !== undefined || options.isolateFailures;
    this.#finishesWithoutSlot = options.prefetch > 0 && stages.finish !== undefined && !mayCallAgain;
    this.#isPlain = stages.prepare === undefined && stages.finish === undefined;
    this.batchCost = options.batchCost;
    this.retry = options.retry;
    this.isolateFailures = options.isolateFailures;
    this.handlerTimeoutMs = options.handlerTimeoutMs;
  }

  get clock(): Desk["clock"] {
    return this.#desk.clock;
  }

  get agenda(): Desk["agenda"] {
    return this.#desk.agenda;
  }

  /** True when the entries may be handed out again: then the handler gets a copy of its own. */
  get keepsItems(): boolean {
    return this.retry !== undefined || this.isolateFailures;
  }

  /** True when a call may be made with fewer entries than the batch was closed with: what they cost is asked anew. */
  get measuresAgain(): boolean {
    return this.keepsItems || this.#stages.open !== undefined;
  }

  count(outcome: ItemOutcome, latencyMs: number): void {
    const { tally, events } = this.#desk;
    if (outcome === "rejected") tally.ended(outcome, 1);
    else tally.answered(outcome, latencyMs);
    if (events.hears("item")) events.emit("item", { outcome, latencyMs });
  }

  countCompleted(times: number, latencyMs: number): void {
    const { tally, events } = this.#desk;
    tally.ended("completed", times);
    if (!events.hears("item")) return;
    for (let time = 0; time < times; time += 1) events.emit("item", { outcome: "completed", latencyMs });
  }

  recordLatencies(moments: StepColumn, counts: readonly number[], now: number): void {
    this.#desk.tally.answeredTogether(moments, counts, now);
  }

  watchDeadlines(segment: Segment): void {
    watchDeadlines(this.#desk, segment);
  }

  ended(run: Run, end: RunEnd, now: number): void {
    this.#owner.ended(run, end, now);
  }

  /** Calls the handler. Its answer may be a promise; it may throw. */
  call(items: unknown[], context: BatchContext, run: Run): unknown {
    if (this.#isPlain) return this.#inContext(this.#stages.run, items, context);
    return this.#callStages(items, context, run);
  }

  /** Runs the handler's `close`, unless its `open` never succeeded. */
  async close(): Promise<void> {
    const { open, close } = this.#stages;
    if (close === undefined) return;
    await this.#opening?.catch(() => {});
    if (open === undefined || this.#isOpen) await this.#inContext(close);
  }

  async #callStages(items: unknown[], context: BatchContext, run: Run): Promise<unknown> {
    const { prepare, finish } = this.#stages;
    const input = prepare === undefined ? items : await this.#inContext(prepare, items, context);
    await run.slot();
    if (run.signal.aborted) throw run.signal.reason;
    const output = await this.#inContext(this.#stages.run, input, context);
    if (finish === undefined || run.isOver) return output;
    if (this.#finishesWithoutSlot && run.holdsSlot) {
      run.releaseSlot();
      this.#owner.slotReleased();
    }
    return this.#inContext(finish, output, context);
  }

  /**
   * Opens the handler, once; a failure is the batch's, and the next batch tries again. Undefined where there is nothing
   * to open; else a promise, also when it has long been opened, so that batches keep their order.
   */
  opening(): Promise<unknown> | undefined {
    const { open } = this.#stages;
    if (open === undefined) return undefined;
    this.#opening ??= Promise.resolve()
      .then(() => this.#inContext(open))
      .then(
        () => {
          this.#isOpen = true;
        },
        (error: unknown) => {
          this.#opening = null;
          throw error;
        },
      );
    return this.#opening;
  }
}
