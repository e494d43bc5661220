// Durations of whole batches that are known at a moment when callers or a free slot wait: put down in one step, counted
// when there is time for it, one entry of the histogram for each turn in which items were submitted.

import type { Histogram } from "./histogram.ts";
import type { StepColumn } from "./step-column.ts";

/** From the times in `moments` to `now`: `counts[n]` items of the nth; where null, all of `length` items. */
interface Observed {
  readonly histogram: Histogram;
  readonly moments: StepColumn;
  readonly now: number;
  readonly length: number;
  readonly counts: readonly number[] | null;
}

export class Backlog {
  readonly #observed: Observed[] = [];

  add(observed: Observed): void {
    this.#observed.push(observed);
  }

  count(): void {
    if (this.#observed.length === 0) return;
    for (const { histogram, moments, now, length, counts } of this.#observed) {
      let from = 0;
      for (let step = 0; step < moments.steps; step += 1) {
        const end = moments.endOfNth(step, length);
        const times = counts === null ? end - from : (counts[step] as number);
        if (times > 0) histogram.record(now - moments.nth(step), times);
        from = end;
      }
    }
    this.#observed.length = 0;
  }
}
