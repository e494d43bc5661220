// Types of packing: its input, its caps and its result.

import type { Measure } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";

/** The waiting entries of a lane. */
export interface Waiting {
  readonly size: number;
  /** Sum of their costs. */
  readonly cost: number;
  /** Results of the cost function for the first entries. */
  measured: MeasuredEntries | null;
  /** The next entries, at most `most`, of moments up to this sequence. Changes nothing. */
  first(most: number, upTo: number): Entry[];
}

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
}

/** The cap that closed a batch; null if all waiting entries are in it and more would fit. */
export type Full = "size" | "cost" | null;

/** A batch plan: these entries, in this order. */
export interface PackedBatch {
  readonly entries: readonly Entry[];
  readonly cost: number;
  readonly full: Full;
}
