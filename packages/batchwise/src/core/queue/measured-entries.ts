// What the user's cost function has said of the first entries of a lane. A lane keeps it until an
// entry leaves, so that a look at entries that have not changed asks the function nothing.

import type { Entry } from "./entry.ts";

export interface MeasuredEntries {
  /** The entries that were looked at. The batch gets the first `count` of them. */
  readonly entries: readonly Entry[];
  readonly count: number;
  /** What those cost; Infinity where the function gave no number. */
  readonly cost: number;
  /** True where more entries were there and did not fit. */
  readonly isCut: boolean;
  /** The most that they might cost. */
  readonly cap: number;
}
