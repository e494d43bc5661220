// One caller of a simulated world: reads its stream at its own pace, leaves at its planned time,
// and records its chunks.

import { BatchwiseError, type StreamFunction } from "batchwise";
import type { VirtualClock } from "batchwise/testing";
import type { Batch } from "./handler.ts";
import { Violation } from "./violation.ts";
import type { CallerPlan } from "./world.ts";

/**
 * How the handler ended a caller: DONE, an Error, the code of a batch's failure; null: it has not.
 */
export type Verdict = "done" | "outlived" | Error | "BATCH_RESULT" | "STREAM_STALLED" | null;

export class Caller {
  readonly plan: CallerPlan;
  readonly ownError: Error;
  readonly #clock: VirtualClock;
  readonly #controller: AbortController = new AbortController();
  #stream: AsyncIterableIterator<string, undefined> | null = null;
  #received = 0;
  /** Number of chunks that the handler has put in its place, and of calls of `next()`. */
  given = 0;
  reads = 0;
  /** Number of its chunks when it last waited for one. */
  #due = 0;
  verdict: Verdict = null;
  batch: Batch | undefined;
  #state: "new" | "open" | "ended" | "failed" | "left" = "new";
  /** True from its first call of `next()` on. */
  isReading = false;
  readonly #onOver: (() => void)[] = [];
  error: unknown;
  /** True if it left before the handler had ended it: then only the caller ended its stream. */
  leftEarly = false;

  constructor(plan: CallerPlan, clock: VirtualClock) {
    this.plan = plan;
    this.#clock = clock;
    this.ownError = new Error(`the end of ${plan.id}`);
  }

  get state(): "new" | "open" | "ended" | "failed" | "left" {
    return this.#state;
  }

  /** Calls back when its stream has ended; at once if it has. */
  whenOver(callback: () => void): void {
    if (this.#state === "new" || this.#state === "open") this.#onOver.push(callback);
    else callback();
  }

  /** Number of its chunks that it has not requested. */
  get unread(): number {
    return this.given - this.reads;
  }

  get isPresent(): boolean {
    const hasExpired = this.#clock.now() >= this.plan.submitAt + (this.plan.timeoutMs ?? Number.POSITIVE_INFINITY);
    return this.state === "open" && this.verdict === null && !this.#controller.signal.aborted && !hasExpired;
  }

  get isOwedChunks(): boolean {
    return this.given < this.plan.length;
  }

  get isOwedMark(): boolean {
    return this.plan.ending !== "generator";
  }

  /** True if the engine, not the handler, failed its stream. */
  get isGone(): boolean {
    const codes = ["BATCH_RESULT", "STREAM_STALLED"];
    const isEngines = this.error instanceof BatchwiseError && !codes.includes(this.error.code);
    return this.leftEarly || (this.state === "failed" && (isEngines || this.error === "aborted"));
  }

  enters(batch: Batch): void {
    if (this.batch !== undefined) throw new Violation(`caller ${this.plan.id} is in two batches`);
    if (this.state !== "open") throw new Violation(`caller ${this.plan.id} was handed over after it had ${this.state}`);
    this.batch = batch;
  }

  give(): string {
    this.given += 1;
    if (this.isPresent) this.#due = this.given;
    return `${this.plan.id}:${this.given - 1}`;
  }

  judge(verdict: Verdict): void {
    this.verdict ??= verdict;
  }

  outlived(): void {
    this.judge("outlived");
  }

  start(stream: StreamFunction<Caller, string>, callers: readonly Caller[]): void {
    const { submitAt, leavesAt, abortsAt, readMs, readsAfter, timeoutMs } = this.plan;
    this.#at(submitAt, () => {
      this.#state = "open";
      const { signal } = this.#controller;
      this.#stream = stream(this, abortsAt === undefined ? { timeoutMs } : { timeoutMs, signal });
      if (readMs !== undefined) {
        const read = (): void => void this.#read(readMs);
        if (readsAfter === undefined) read();
        else callers[readsAfter]?.whenOver(read);
      }
      if (leavesAt !== undefined) this.#at(leavesAt, () => this.leave());
      if (abortsAt !== undefined) this.#at(abortsAt, () => this.#controller.abort("aborted"));
    });
  }

  /** Ends an open stream: leaves, or reads the end of a stream that was never read. */
  leave(): void {
    if (this.state !== "open") return;
    this.#state = "left";
    this.leftEarly = this.verdict === null && this.batch?.wasAbandoned !== true;
    void this.#stream?.return?.();
    this.#over();
  }

  async #read(readMs: number): Promise<void> {
    const stream = this.#stream as AsyncIterableIterator<string, undefined>;
    this.isReading = true;
    try {
      while (this.state === "open") {
        if (this.#received === this.plan.leavesAfter) return this.leave();
        this.reads += 1;
        const { done, value } = await stream.next();
        if (done === true) this.#ended();
        else this.#got(value);
        if (readMs > 0) await new Promise<void>((resolve) => this.#at(readMs, resolve));
      }
    } catch (error) {
      if (this.state !== "open") throw new Violation(`caller ${this.plan.id} failed after it had ${this.state}`);
      this.#state = "failed";
      this.error = error;
      this.#over();
    }
  }

  #ended(): void {
    if (this.state !== "open") return;
    this.#state = "ended";
    this.#over();
  }

  #over(): void {
    for (const callback of this.#onOver.splice(0)) callback();
  }

  #got(value: string): void {
    if (this.state === "left") throw new Violation(`caller ${this.plan.id} got ${value} after it had left`);
    const expected = `${this.plan.id}:${this.#received}`;
    if (value !== expected) throw new Violation(`caller ${this.plan.id} got ${value} in place of ${expected}`);
    this.#received += 1;
  }

  /** Compares its fate with the handler's actions. */
  check(): void {
    const { state, verdict, given, error } = this;
    const is = (isRight: boolean, what: string): void => {
      if (!isRight) throw new Violation(`caller ${this.plan.id} ${what}: ${JSON.stringify({ state, verdict, given })}`);
    };
    is(state !== "open" && state !== "new", "never settled");
    if (state === "ended") {
      is(verdict === "done" || verdict === "outlived", "ended without cause");
      is(this.#received === given, `got ${this.#received} chunks`);
    }
    if (state === "failed") {
      is(
        this.isGone || error === verdict || this.#isOf("BATCH_RESULT") || this.#isOf("STREAM_STALLED"),
        `failed with ${String(error)}`,
      );
      // A chunk may be in flight to a caller whom the engine fails at that moment.
      is(this.#received >= this.#due - (this.isGone ? 1 : 0), `got ${this.#received} of ${this.#due} chunks`);
    }
  }

  #isOf(code: "BATCH_RESULT" | "STREAM_STALLED"): boolean {
    return this.verdict === code && (this.error as { code?: unknown }).code === code;
  }

  #at(ms: number, callback: () => void): void {
    this.#clock.setTimeout(callback, ms);
  }
}
