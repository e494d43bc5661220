// The slots in which batches run, and the batches that wait for one: prepared ahead, or due for another call. One that
// finishes without its slot (`prefetch` with `finish`) still counts as running.

import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchRun } from "../run/batch-run.ts";
import type { Stages } from "../run/handler.ts";

const NONE: ReadonlySet<BatchRun> = new Set();

export class Slots {
  readonly #preparesAhead: boolean;
  /** How many stages besides `run` a batch may be in without a slot. */
  readonly #outerStages: number;
  readonly #running: BatchRun[] = [];
  readonly #queued: BatchRun[] = [];
  #resting: Set<BatchRun> | null = null;
  #busy = 0;

  constructor({ prepare, finish }: Stages) {
    this.#preparesAhead = prepare !== undefined;
    this.#outerStages = (prepare === undefined ? 0 : 1) + (finish === undefined ? 0 : 1);
  }

  /** The batches that run, are prepared ahead, or finish. In no order. */
  get running(): readonly BatchRun[] {
    return this.#running;
  }

  /** The batches that wait before another call. */
  get resting(): ReadonlySet<BatchRun> {
    return this.#resting ?? NONE;
  }

  /** When the oldest item of those batches was submitted; Infinity where there is none. */
  get restingSince(): number {
    let since = Infinity;
    for (const { oldestAt } of this.resting) since = Math.min(since, oldestAt);
    return since;
  }

  /** The batch that gets the next free slot, before any new one. */
  get next(): BatchRun | undefined {
    return this.#queued[0];
  }

  isFree({ concurrency }: ResolvedOptions): boolean {
    return this.#busy < concurrency;
  }

  /** How many batches that wait could run at once; at least 1. */
  free({ concurrency }: ResolvedOptions): number {
    return Math.max(1, concurrency - this.#busy);
  }

  /** True when a new batch may be closed now: a slot is free, or one more may be prepared ahead. */
  mayStart({ concurrency, prefetch }: ResolvedOptions): boolean {
    if (this.#running.length >= concurrency + Math.max(1, prefetch * this.#outerStages)) return false;
    if (this.#busy < concurrency && this.#queued.length === 0) return true;
    return this.#preparesAhead && this.#queued.length < prefetch;
  }

  /** Takes a new batch in; true when it has a slot at once. */
  add(run: BatchRun, { concurrency }: ResolvedOptions): boolean {
    run.slotIndex = this.#running.push(run) - 1;
    if (this.#busy < concurrency && this.#queued.length === 0) {
      this.#busy += 1;
      return true;
    }
    this.#queued.push(run);
    return false;
  }

  /** Takes a batch out that has ended. */
  remove(run: BatchRun): void {
    if (this.#resting?.delete(run)) this.#unqueue(run);
    else this.#stopRunning(run);
  }

  /** A batch gave its slot back and goes on without it. */
  release(): void {
    this.#busy -= 1;
  }

  /** A batch waits before another call and gives its slot back, if it had one: one that is prepared ahead has none. */
  rest(run: BatchRun): void {
    this.#stopRunning(run);
    run.holdsSlot = false;
    this.#resting ??= new Set();
    this.#resting.add(run);
  }

  /** A batch that rests wants the next free slot. */
  enqueue(run: BatchRun): void {
    this.#queued.push(run);
  }

  /** Gives a slot to the batch that waits first. */
  grant(): void {
    const run = this.#queued.shift();
    if (run === undefined) return;
    this.#busy += 1;
    if (this.#resting?.delete(run)) run.slotIndex = this.#running.push(run) - 1;
    run.grantSlot();
  }

  #stopRunning(run: BatchRun): void {
    const last = this.#running.pop() as BatchRun;
    if (last !== run) {
      this.#running[run.slotIndex] = last;
      last.slotIndex = run.slotIndex;
    }
    if (run.holdsSlot) this.#busy -= 1;
    else this.#unqueue(run);
  }

  #unqueue(run: BatchRun): void {
    const index = this.#queued.indexOf(run);
    if (index !== -1) this.#queued.splice(index, 1);
  }
}
