// Types of packing: its input, its caps and its result.

import type { Measure } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import type { Lane } from "../queue/lane.ts";

/** The waiting entries of a lane. */
export type Waiting = Pick<Lane, "size" | "cost" | "measured" | "first">;

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
}

/** The options that decide which lanes are full, with the learned cap. */
export interface LaneCaps extends Caps {
  readonly preferredBatchSize: number;
  readonly order: "fifo" | "length";
}

/** These caps alone, without the other options: a copy of all for each batch takes long. */
export function withCap(options: LaneCaps, maxBatchCost: number): LaneCaps {
  const { maxBatchSize, batchCost, preferredBatchSize, order } = options;
  return { maxBatchSize, maxBatchCost, batchCost, preferredBatchSize, order };
}

/** The cap that closed a batch; null if all waiting entries are in it and more would fit. */
export type Full = "size" | "cost" | null;

/** A batch plan: these entries, in this order. */
export interface PackedBatch {
  readonly entries: readonly Entry[];
  readonly cost: number;
  readonly full: Full;
}
