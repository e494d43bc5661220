// Types of packing: its input, its caps and its result.

import type { Measure } from "../contract/options.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import type { BatchPlan } from "../queue/queue.ts";

/** The waiting entries of a lane. */
export interface Waiting {
  readonly size: number;
  /** Results of the cost function for the first entries. */
  measured: MeasuredEntries | null;
  /** Reads the entries up to this moment's sequence, in dispatch order. */
  reader(lastSequence: number): EntryReader;
}

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
}

/** The cap that closed a batch; null if all waiting entries are in it and more would fit. */
export type Full = "size" | "cost" | null;

export interface PackedBatch extends BatchPlan {
  readonly cost: number;
  readonly full: Full;
}
