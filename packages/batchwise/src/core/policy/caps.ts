// What a batch is packed from, and under which caps, and what comes of it.

import type { Measure } from "../contract/options.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import type { BatchPlan } from "../queue/queue.ts";

/** What waits in a lane. */
export interface Waiting {
  readonly size: number;
  /** What a cost function has said of the entries that go first. */
  measured: MeasuredEntries | null;
  /**
   * Over the entries of the moments up to the one of this sequence, in the order in which they go.
   */
  reader(lastSequence: number): EntryReader;
}

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
}

/** Which cap closed a batch; null where everything that waits is in it and more would fit. */
export type Full = "size" | "cost" | null;

export interface PackedBatch extends BatchPlan {
  readonly cost: number;
  readonly full: Full;
}
