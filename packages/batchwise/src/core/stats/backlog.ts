// Durations of whole batches that are known at a moment when callers or a free slot wait: put down in one step, counted
// when there is time for it, one entry of the histogram for each turn in which items were submitted.

import type { StepColumn } from "../queue/step-column.ts";
import type { Histogram } from "./histogram.ts";

/** Durations from the times in `moments` to `now`. */
interface Observed {
  readonly histogram: Histogram;
  readonly moments: StepColumn;
  readonly now: number;
  /** How many items there are in all, each with a moment of its own or shared; or how many there are of each moment. */
  readonly items: number | readonly number[];
}

export class Backlog {
  readonly #observed: Observed[] = [];

  add(observed: Observed): void {
    this.#observed.push(observed);
  }

  count(): void {
    if (this.#observed.length === 0) return;
    for (const { histogram, moments, now, items } of this.#observed) {
      for (let step = 0; step < moments.steps; step += 1) {
        const times = typeof items === "number" ? lengthOfNth(moments, step, items) : (items[step] ?? 0);
        if (times > 0) histogram.record(now - moments.nth(step), times);
      }
    }
    this.#observed.length = 0;
  }
}

function lengthOfNth(moments: StepColumn, step: number, length: number): number {
  return moments.endOfNth(step, length) - (step === 0 ? 0 : moments.endOfNth(step - 1, length));
}
