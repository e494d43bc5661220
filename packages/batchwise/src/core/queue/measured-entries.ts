// The cost function's result for the first entries of a lane. A lane keeps it until an entry
// leaves, so that unchanged entries are not measured again.

import type { Entry } from "./entry.ts";

export interface MeasuredEntries {
  /** The measured entries. The batch gets the first `count` of them. */
  readonly entries: readonly Entry[];
  readonly count: number;
  /** Their cost; Infinity if the function returned no number. */
  readonly cost: number;
  /** True if more entries were there and did not fit. */
  readonly isCut: boolean;
  /** The cap of their cost. */
  readonly cap: number;
}
