// The packer of `order: "length"` and `maxBatchCost: "learn"`. It learns the times of the handler's
// calls, and from them the caps of the next batch. Only the last call of a batch counts, without
// opening, pauses and earlier calls.

import type { ResolvedOptions } from "../core/contract/options.ts";
import type { LearnedStats } from "../core/contract/stats.ts";
import { type PackedBatch, type Waiting, withCap } from "../core/policy/caps.ts";
import { pack } from "../core/policy/pack.ts";
import type { EndedBatch, Packer, PackingState } from "../core/policy/packer.ts";
import type { Lane } from "../core/queue/lane.ts";
import { type LengthCaps, packByLength } from "./pack-by-length.ts";
import { RunCosts } from "./run-costs.ts";

/** Only the first item fits, and items that cost nothing. */
const ONE_ITEM: number = Number.MIN_VALUE;

/**
 * A few keys may be different models with different speeds; many keys are users of one model. Above
 * this number all keys share the learned values.
 */
const MOST_KEYS = 8;

class PaddedPacker implements Packer {
  /** Learned from all batches. */
  #ofAll: RunCosts | null = null;
  /** Learned per key; created with the first batch, null after too many keys. */
  #byKey: Map<string, RunCosts> | null | undefined = undefined;

  pack(lane: Waiting, caps: LengthCaps, now: number, upTo: number): PackedBatch {
    const isByLength = caps.order === "length" && typeof caps.batchCost !== "function";
    return isByLength ? packByLength(lane, caps, now, upTo) : pack(lane, caps, upTo);
  }

  record(batch: EndedBatch, callMs: number): void {
    const { key, failure, isPart, wasLeft } = batch;
    const isSplit = failure?.isSplit === true;
    const hasFailed = failure?.hasFailed === true;
    // A failed batch whose halves both succeeded was too large, or unlucky.
    if (isSplit ? hasFailed : isPart) return;
    if (this.#ofAll === null && (isSplit || hasFailed)) return;
    // A cancelled batch says nothing about its size, unless deadlines cancelled it.
    if (wasLeft && hasFailed && !batch.showsTooLong(callMs)) return;
    this.#ofAll ??= new RunCosts();
    for (const runCosts of [this.#ofAll, this.#forKey(key)]) if (runCosts !== undefined) learn(runCosts, batch, callMs);
  }

  /** Before a cap is learned, only the number of items makes a lane full. */
  highestCap({ learnsBatchCost, maxBatchCost }: ResolvedOptions): number {
    if (!learnsBatchCost || this.#ofAll === null) return maxBatchCost;
    let { budget } = this.#ofAll;
    for (const ofKey of this.#byKey?.values() ?? []) if (ofKey.isKnown) budget = Math.max(budget, ofKey.budget);
    return budget;
  }

  stats(options: ResolvedOptions): LearnedStats | null {
    if (!options.learnsBatchCost) return null;
    if (this.#ofAll === null) return Object.freeze({ maxBatchCost: 0, state: "learning" });
    return Object.freeze({ maxBatchCost: this.highestCap(options), state: this.#ofAll.state });
  }

  /**
   * Free slots share the waiting items of all lanes, so that none is idle while another takes them
   * all. A share is at least the fixed cost of a call.
   */
  capsOf(lane: Lane, options: ResolvedOptions, { freeSlots, waiting, runTimes }: PackingState): LengthCaps {
    const learned = this.#learnedOf(lane.key);
    const maxBatchCost = options.learnsBatchCost ? (learned?.budget ?? coldBudget(options)) : options.maxBatchCost;
    const itemCost = lane.cost / lane.size;
    const fixedCost = learned?.fixedCost ?? itemCost;
    const caps = { ...withCap(options, maxBatchCost), fixedCost, runTimes };
    if (freeSlots === 1 || freeSlots === Infinity) return caps;
    const share = Math.max((waiting / freeSlots + 1) * itemCost, learned?.fixedCost ?? 0);
    if (options.order === "length") return { ...caps, share };
    return withCap(options, Math.min(maxBatchCost, share));
  }

  /**
   * The learned values of a key; until enough of its batches have run, the values of all batches.
   */
  #learnedOf(key: string | undefined): RunCosts | null {
    const ofKey = key === undefined ? undefined : this.#byKey?.get(key);
    return ofKey?.isKnown ? ofKey : this.#ofAll;
  }

  #forKey(key: string | undefined): RunCosts | undefined {
    if (key === undefined || this.#byKey === null) return undefined;
    this.#byKey ??= new Map();
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size === MOST_KEYS) {
      this.#byKey = null;
      return undefined;
    }
    const made = new RunCosts();
    this.#byKey.set(key, made);
    return made;
  }
}

export function paddedPacker(): Packer {
  return new PaddedPacker();
}

function learn(runCosts: RunCosts, batch: EndedBatch, callMs: number): void {
  const { cost, size, itemsCost, failure } = batch;
  if (failure?.isSplit || failure?.hasFailed) runCosts.recordFailure(cost, size);
  else if (batch.showsTooLong(callMs)) runCosts.recordLate(cost, size, callMs, itemsCost || cost);
  else runCosts.record(cost, size, callMs, itemsCost || cost);
}

/**
 * All items that wait at a cold start may exceed the memory. Without any cap, each item would be a
 * batch.
 */
function coldBudget({ concurrency, maxBatchCost }: ResolvedOptions): number {
  return concurrency === Infinity ? maxBatchCost : ONE_ITEM;
}
