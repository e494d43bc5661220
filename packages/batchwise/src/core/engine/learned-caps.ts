// The caps of the next batch where they depend on how long the handler runs: `maxBatchCost: "learn"` and
// `order: "length"`. Elsewhere they are the options as they were given, and nothing is learned.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Caps } from "../policy/caps.ts";
import { RunCosts } from "../policy/run-costs.ts";
import type { Lane } from "../queue/lane.ts";
import type { BatchStart } from "../run/context.ts";
import type { RunEnd } from "../run/run-owner.ts";

/** No item but the first fits, unless it costs nothing. */
const ONE_ITEM: number = Number.MIN_VALUE;

export class LearnedCaps {
  #runCosts: RunCosts | null = null;

  /** Learns from a batch that has ended. */
  record({ cost, size }: BatchStart, { error, runMs }: RunEnd, options: ResolvedOptions): void {
    if (!isInUse(options)) return;
    if (error !== undefined) {
      this.#runCosts?.recordFailure(cost);
      return;
    }
    this.#runCosts ??= new RunCosts();
    this.#runCosts.record(cost, size, runMs);
  }

  /** The options, with the cap that has been learned. Before one has, a lane is full by its size alone. */
  limits(options: ResolvedOptions): ResolvedOptions {
    if (!options.learnsBatchCost || this.#runCosts === null) return options;
    return { ...options, maxBatchCost: this.#runCosts.budget };
  }

  /** The caps of a lane's next batch. Free slots share what waits, so that none idles while another has it all. */
  capsOf(lane: Lane, options: ResolvedOptions, freeSlots: number): Caps {
    if (!isInUse(options)) return options;
    const limits = this.#runCosts === null ? coldStart(options) : this.limits(options);
    const itemCost = lane.cost / lane.size;
    const fixedCost = this.#runCosts?.fixedCost ?? itemCost;
    if (freeSlots === 1 || freeSlots === Infinity) return { ...limits, fixedCost };
    const share = lane.cost / freeSlots + itemCost;
    if (options.order === "length") return { ...limits, fixedCost, share };
    return { ...limits, maxBatchCost: Math.min(limits.maxBatchCost, share) };
  }
}

/** All that waits at a cold start may be more than memory holds. Without a bound on batches, each item would be one. */
function coldStart(options: ResolvedOptions): ResolvedOptions {
  if (!options.learnsBatchCost || options.concurrency === Infinity) return options;
  return { ...options, maxBatchCost: ONE_ITEM };
}

function isInUse({ learnsBatchCost, order }: ResolvedOptions): boolean {
  return learnsBatchCost || order === "length";
}
