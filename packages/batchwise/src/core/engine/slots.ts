// The slots in which batches run, and the batches that wait for one: prepared ahead, or due for
// another call. A batch that finishes without its slot (`prefetch` with `finish`) still counts as
// running.

import type { Batch } from "../run/batch.ts";
import type { Services } from "../submit/services.ts";

const NONE: ReadonlySet<Batch> = new Set();

export class Slots {
  readonly #services: Pick<Services, "options" | "stages">;
  readonly #running: Batch[] = [];
  #queued: Batch[] | null = null;
  #pausing: Set<Batch> | null = null;
  #busy = 0;
  /** Stages in which a batch may be without a slot. */
  readonly #outerStages: number;

  constructor(services: Pick<Services, "options" | "stages">) {
    const { prepare, finish } = services.stages;
    this.#services = services;
    this.#outerStages = (prepare === undefined ? 0 : 1) + (finish === undefined ? 0 : 1);
  }

  /** Batches that run, are prepared ahead, or finish, in any order. */
  get running(): readonly Batch[] {
    return this.#running;
  }

  get isBusy(): boolean {
    return this.#running.length > 0 || this.pausing.size > 0;
  }

  /** Batches that pause before another call. */
  get pausing(): ReadonlySet<Batch> {
    return this.#pausing ?? NONE;
  }

  /** The batch that gets the next free slot, before any new one. */
  get next(): Batch | undefined {
    return this.#queued?.[0];
  }

  get isFree(): boolean {
    return this.#busy < this.#services.options.concurrency;
  }

  /** How many waiting batches could run at once; at least 1. */
  get free(): number {
    return Math.max(1, this.#services.options.concurrency - this.#busy);
  }

  /** True when a new batch may be closed now: a slot is free, or one more may be prepared ahead. */
  get mayStart(): boolean {
    const { options, stages } = this.#services;
    const { concurrency, prefetch } = options;
    if (this.#running.length >= concurrency + Math.max(1, prefetch * this.#outerStages)) return false;
    const queued = this.#queued?.length ?? 0;
    if (this.isFree && queued === 0) return true;
    return stages.prepare !== undefined && queued < prefetch;
  }

  /** Adds a new batch. Returns whether it has a slot at once. */
  add(batch: Batch): boolean {
    batch.slotIndex = this.#running.push(batch) - 1;
    if (this.isFree && this.next === undefined) {
      this.#busy += 1;
      return true;
    }
    this.enqueue(batch);
    return false;
  }

  /** Removes a batch that has ended. */
  remove(batch: Batch): void {
    if (this.#pausing?.delete(batch)) this.#unqueue(batch);
    else this.#stopRunning(batch);
  }

  /** A batch has given its slot back and continues without it. */
  release(): void {
    this.#busy -= 1;
  }

  /**
   * A batch pauses before another call. Gives its slot back if it has one; a batch prepared ahead
   * has none.
   */
  pause(batch: Batch): void {
    this.#stopRunning(batch);
    batch.holdsSlot = false;
    this.#pausing ??= new Set();
    this.#pausing.add(batch);
  }

  /** A pausing batch requests the next free slot. */
  enqueue(batch: Batch): void {
    this.#queued ??= [];
    this.#queued.push(batch);
  }

  /** Gives a slot to the first waiting batch. */
  grant(): void {
    const batch = this.#queued?.shift();
    if (batch === undefined) return;
    this.#busy += 1;
    if (this.#pausing?.delete(batch)) batch.slotIndex = this.#running.push(batch) - 1;
    batch.grantSlot();
  }

  #stopRunning(batch: Batch): void {
    const last = this.#running.pop() as Batch;
    if (last !== batch) {
      this.#running[batch.slotIndex] = last;
      last.slotIndex = batch.slotIndex;
    }
    if (batch.holdsSlot) this.#busy -= 1;
    else this.#unqueue(batch);
  }

  #unqueue(batch: Batch): void {
    const index = this.#queued?.indexOf(batch) ?? -1;
    if (index !== -1) this.#queued?.splice(index, 1);
  }
}
