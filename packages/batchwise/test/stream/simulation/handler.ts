// The handler of a simulated world, and its records: the chunks that it put in each place, and the
// times of requests.

import { type BatchContext, DONE, SKIP } from "batchwise";
import type { Caller } from "./caller.ts";
import { Violation } from "./violation.ts";
import type { WarningTimers } from "./warning-timers.ts";
import type { BatchPlan, World } from "./world.ts";

/** One call of the handler. */
export interface Batch {
  readonly callers: readonly Caller[];
  readonly context: BatchContext;
  readonly startedAt: number;
  /** True from its first round until its clean-up has ended. */
  isRunning: boolean;
  /** True if it waits for something that never happens. */
  hangs: boolean;
  /** True if its callers were all failed at once: it outlived its time or the batcher. */
  wasAbandoned: boolean;
  isCleaningUp: boolean;
  /**
   * True if it aborted while the handler cleaned up after the last answer, when all callers had
   * been answered.
   */
  abortedInCleanUp: boolean;
  /**
   * Callers who, when the signal aborted, had neither left nor been answered, as far as the handler
   * can know.
   */
  presentAtAbort: readonly Caller[] | undefined;
  /**
   * When the last round was yielded, -1 while the handler works; whether a caller was behind then;
   * the longest wait after a round.
   */
  yieldedAt: number;
  wasHeld: boolean;
  longestWaitMs: number;
}

/** Marks the failures of a batch. */
const boom: Error = new Error("the handler threw");

export class SimulatedHandler {
  readonly batches: Batch[] = [];
  readonly #world: World;
  readonly #clock: WarningTimers;

  constructor(world: World, clock: WarningTimers) {
    this.#world = world;
    this.#clock = clock;
  }

  handle(callers: readonly Caller[], context: BatchContext): AsyncIterable<never> | Iterable<never> {
    const { maxBatchSize, concurrency } = this.#world.options;
    const batch: Batch = {
      callers,
      context,
      startedAt: this.#clock.now(),
      isRunning: false,
      hangs: false,
      wasAbandoned: false,
      isCleaningUp: false,
      abortedInCleanUp: false,
      presentAtAbort: undefined,
      yieldedAt: -1,
      wasHeld: false,
      longestWaitMs: 0,
    };
    const running = this.batches.filter((other) => this.#holdsSlot(other));
    if (callers.length > maxBatchSize) throw new Violation(`a batch of ${callers.length}`);
    if (running.length >= concurrency) throw new Violation(`${running.length + 1} batches at once`);
    this.batches.push(batch);
    for (const caller of callers) caller.enters(batch);
    context.signal.addEventListener("abort", () => {
      batch.abortedInCleanUp = batch.isCleaningUp;
      batch.presentAtAbort = callers.filter((caller) => caller.isPresent);
      const { code } = (context.signal.reason ?? {}) as { code?: unknown };
      if (code === "HANDLER_TIMEOUT" || code === "CLOSED") batch.wasAbandoned = true;
    });
    const plan = this.#world.nextBatch();
    return (plan.isAsync ? this.#slowly(batch, plan) : this.#atOnce(batch, plan)) as AsyncIterable<never>;
  }

  /** An aborted batch that continues has its slot until its time is over. */
  #holdsSlot({ isRunning, wasAbandoned, startedAt }: Batch): boolean {
    const limitMs = this.#world.options.handlerTimeoutMs ?? Number.POSITIVE_INFINITY;
    return isRunning && !wasAbandoned && this.#clock.now() - startedAt < limitMs;
  }

  async *#slowly(batch: Batch, plan: BatchPlan): AsyncGenerator<unknown> {
    batch.isRunning = true;
    try {
      for (let round = 0; this.#hasMore(batch); round += 1) {
        if (plan.roundMs > 0) await this.#sleep(plan.roundMs);
        batch.hangs = round === plan.failsAt && plan.failure === "hang";
        if (batch.hangs) await new Promise(() => {});
        yield this.#yielding(batch, this.#round(batch, plan, round));
        this.#asked(batch);
      }
      for (const caller of batch.callers) caller.outlived();
    } finally {
      this.#resumed(batch);
      batch.isCleaningUp = true;
      if (plan.cleanUpMs > 0) await this.#sleep(plan.cleanUpMs);
      batch.isRunning = false;
    }
  }

  *#atOnce(batch: Batch, plan: BatchPlan): Generator<unknown> {
    batch.isRunning = true;
    try {
      for (let round = 0; this.#hasMore(batch); round += 1) {
        yield this.#yielding(batch, this.#round(batch, plan, round));
        this.#asked(batch);
      }
      for (const caller of batch.callers) caller.outlived();
    } finally {
      this.#resumed(batch);
      batch.isRunning = false;
    }
  }

  /** Callers who end with the generator get all their chunks first. */
  #hasMore({ callers }: Batch): boolean {
    return callers.some((caller) => caller.verdict === null && (caller.isOwedMark || caller.isOwedChunks));
  }

  #round({ callers }: Batch, plan: BatchPlan, round: number): unknown {
    if (round === plan.failsAt && plan.failure !== "hang") {
      const failure = plan.failure === "throw" ? boom : "BATCH_RESULT";
      for (const caller of callers) caller.judge(failure);
      if (plan.failure === "throw") throw boom;
      return callers.length === 1 ? [] : [SKIP];
    }
    return callers.map((caller, index) => {
      if (caller.verdict !== null) return caller.verdict === "done" ? "junk" : new Error("junk");
      const isSkipped = (caller.given * 7 + round * 13 + index * 5) % 10 < plan.skips * 10;
      return isSkipped ? SKIP : this.#place(caller);
    });
  }

  #place(caller: Caller): unknown {
    if (caller.isOwedChunks) return caller.give();
    if (caller.plan.ending === "generator") return SKIP;
    caller.judge(caller.plan.ending === "done" ? "done" : caller.ownError);
    return caller.plan.ending === "done" ? DONE : caller.ownError;
  }

  /** True while a caller has more unread chunks than its buffer holds. */
  isHeld({ callers }: Batch): boolean {
    return callers.some((caller) => this.#isBehind(caller));
  }

  #yielding(batch: Batch, round: unknown): unknown {
    batch.yieldedAt = this.#clock.now();
    batch.wasHeld = this.isHeld(batch);
    return round;
  }

  /** The engine requests another round, or stops the handler: it has waited only for readers. */
  #resumed(batch: Batch): void {
    if (batch.yieldedAt < 0) return;
    this.#endsStalled(batch);
    const waitedMs = this.#clock.now() - batch.yieldedAt;
    batch.yieldedAt = -1;
    batch.longestWaitMs = Math.max(batch.longestWaitMs, waitedMs);
    if (waitedMs > 0 && !batch.wasHeld) throw new Violation(`a batch waited ${waitedMs} ms though nobody was behind`);
  }

  /** Callers who are still behind were ended, if others may have waited long enough for them. */
  #endsStalled(batch: Batch): void {
    if (this.#clock.now() - batch.yieldedAt < this.#world.options.maxStallMs) return;
    for (const caller of batch.callers) if (this.#isBehind(caller)) caller.judge("STREAM_STALLED");
  }

  #isBehind(caller: Caller): boolean {
    return caller.isPresent && caller.unread > this.#world.options.maxBufferedChunks;
  }

  /** The engine requests another round: no remaining caller may be behind. */
  #asked(batch: Batch): void {
    this.#resumed(batch);
    if (batch.context.signal.aborted) throw new Violation("a round was asked for after the abort");
    if (this.isHeld(batch)) throw new Violation("a round was asked for while a caller was behind");
    const held = this.batches.filter(({ yieldedAt, wasHeld }) => yieldedAt >= 0 && wasHeld);
    if (this.#clock.count > held.length) throw new Violation("a batch goes on and left its warning's timer");
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }
}
