// The interface of a latency target: refused items, the batch cap and the longest hold. The makers
// of batchers pass the implementation, as they pass packers.

import type { Events } from "../contract/events.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { LearnedStats } from "../contract/stats.ts";
import type { Entry } from "../queue/entry.ts";
import type { Queue } from "../queue/queue.ts";
import type { EndedBatch, Packer } from "./packer.ts";

/** A running batch, as the rule sees it. */
interface TimedBatch {
  readonly cost: number;
  readonly startedAt: number;
}

/** The batcher, as the rule sees it. */
export interface TargetView {
  readonly services: {
    readonly name: string;
    readonly options: ResolvedOptions;
    readonly events: Pick<Events, "warn">;
  };
  readonly queue: Queue;
  readonly slots: { readonly running: readonly TimedBatch[]; readonly isFree: boolean };
  /** True if the next start is unknown: paused, or held by a limiter. */
  readonly isHeld: () => boolean;
  /** Refuses waiting entries, in one step. */
  readonly letGo: (entries: readonly Entry[], error: Error) => void;
}

export interface LatencyTarget {
  /** Call when the options have changed. */
  configure(): void;
  /** How many more plain items may enter. */
  room(now: number): number;
  /** The error for an item that cannot meet the target; null if it may. */
  refusalOf(entry: Entry): Error | null;
  /**
   * Refuses items that can no longer meet the target. Returns when to call it again, unless a batch
   * is chosen or an item comes before; Infinity: never.
   */
  shed(now: number): number;
  /** The time before which no batch starts, also if a slot is free; 0 if there is none. */
  notBefore(): number;
  /** Expected duration of a call of this cost, in ms; null while nothing is known. */
  predict(cost: number): number | null;
  /** The cap on the cost of the next batch. */
  readonly maxBatchCost: number;
  /** How long the oldest item may be held for a fuller batch. */
  readonly holdMs: number;
  /** Learns from a batch that has ended. `callMs`: undefined where its last call was called off. */
  record(batch: EndedBatch, callMs: number | undefined): void;
  /** What users see of it. */
  stats(): LearnedStats;
}

/** Extensions of the core, given by the makers of batchers. */
export interface Extensions {
  readonly makePacker: () => Packer;
  readonly makeTarget: (view: TargetView) => LatencyTarget;
}
