// The slots in which batches run. A batch that was prepared ahead waits here for a slot; one that finishes without its
// slot (`prefetch` with `finish`) is still counted as running.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Stages } from "../run/handler.ts";
import type { Run } from "../run/run.ts";

export class Slots {
  readonly #preparesAhead: boolean;
  /** How many stages besides `run` a batch may be in without a slot. */
  readonly #outerStages: number;
  readonly #running: Run[] = [];
  readonly #staged: Run[] = [];
  #busy = 0;

  constructor(stages: Stages) {
    this.#preparesAhead = stages.prepare !== undefined;
    this.#outerStages = (stages.prepare === undefined ? 0 : 1) + (stages.finish === undefined ? 0 : 1);
  }

  /** The batches that run, are prepared ahead, or finish. In no order. */
  get running(): readonly Run[] {
    return this.#running;
  }

  /** True when a batch may be closed now: a slot is free, or one more may be prepared ahead. */
  mayStart({ concurrency, prefetch }: ResolvedOptions): boolean {
    if (this.#running.length >= concurrency + Math.max(1, prefetch * this.#outerStages)) return false;
    if (this.#busy < concurrency && this.#staged.length === 0) return true;
    return this.#preparesAhead && this.#staged.length < prefetch;
  }

  /** Takes a batch in; true when it has a slot at once. */
  add(run: Run, { concurrency }: ResolvedOptions): boolean {
    run.slotIndex = this.#running.push(run) - 1;
    if (this.#busy < concurrency && this.#staged.length === 0) {
      this.#busy += 1;
      return true;
    }
    this.#staged.push(run);
    return false;
  }

  remove(run: Run): void {
    const last = this.#running.pop() as Run;
    if (last !== run) {
      this.#running[run.slotIndex] = last;
      last.slotIndex = run.slotIndex;
    }
    if (run.holdsSlot) {
      this.#busy -= 1;
    } else {
      const index = this.#staged.indexOf(run);
      if (index !== -1) this.#staged.splice(index, 1);
    }
  }

  /** A batch gave its slot back and goes on without it. */
  release(): void {
    this.#busy -= 1;
  }

  /** Gives free slots to the batches that wait for one. */
  grant({ concurrency }: ResolvedOptions): void {
    while (this.#staged.length > 0 && this.#busy < concurrency) {
      this.#busy += 1;
      this.#staged.shift()?.grantSlot();
    }
  }
}
