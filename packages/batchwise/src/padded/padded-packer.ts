// The packer of `order: "length"` and `maxBatchCost: "learn"`. It learns how long the handler's
// calls take, and from that the caps of the next batch. The last call of a batch counts, without
// opening, pauses and earlier calls.

import type { ResolvedOptions } from "../core/contract/options.ts";
import type { LearnedStats } from "../core/contract/stats.ts";
import type { PackedBatch, Waiting } from "../core/policy/caps.ts";
import { pack } from "../core/policy/pack.ts";
import type { EndedBatch, Packer, PackingState } from "../core/policy/packer.ts";
import type { Lane } from "../core/queue/lane.ts";
import { type LengthCaps, packByLength } from "./pack-by-length.ts";
import { RunCosts } from "./run-costs.ts";

/** No item but the first fits, unless it costs nothing. */
const ONE_ITEM: number = Number.MIN_VALUE;

/**
 * A few keys may be models of their own, which differ in speed; many are users of one. Above this
 * number all keys share what has been learned.
 */
const MOST_KEYS = 8;

class PaddedPacker implements Packer {
  /** Of all batches. */
  #ofAll: RunCosts | null = null;
  /**
   * Of the batches of each key; made with the first one, null once there have been too many of
   * them.
   */
  #byKey: Map<string, RunCosts> | null | undefined = undefined;

  pack(lane: Waiting, caps: LengthCaps, now: number, lastSequence: number): PackedBatch {
    const isByLength = caps.order === "length" && typeof caps.batchCost !== "function";
    return isByLength ? packByLength(lane, caps, now, lastSequence) : pack(lane, caps, lastSequence);
  }

  record(batch: EndedBatch, callMs: number): void {
    if (batch.failure?.isSplit) this.#recordSplit(batch);
    else if (!batch.isPart) this.#recordWhole(batch, callMs);
  }

  /** A batch that failed, and of which each half succeeded, was too large, or unlucky. */
  #recordSplit({ cost, key, failure }: EndedBatch): void {
    if (failure?.hasFailedHalf || this.#ofAll === null) return;
    this.#ofAll.recordFailure(cost);
    this.#forKey(key)?.recordFailure(cost);
  }

  #recordWhole(batch: EndedBatch, callMs: number): void {
    const hasFailed = batch.failure?.hasFailed === true;
    if (this.#ofAll === null && hasFailed) return;
    // One that was called off shows nothing of its size, unless deadlines did that.
    if (batch.wasLeft && hasFailed && !batch.showsTooLong(callMs)) return;
    this.#ofAll ??= new RunCosts();
    learn(this.#ofAll, batch, callMs);
    const ofKey = this.#forKey(batch.key);
    if (ofKey !== undefined) learn(ofKey, batch, callMs);
  }

  /** Before a cap is learned, a lane is full by its size alone. */
  limits(options: ResolvedOptions): ResolvedOptions {
    if (!options.learnsBatchCost || this.#ofAll === null) return options;
    let { budget } = this.#ofAll;
    for (const ofKey of this.#byKey?.values() ?? []) if (ofKey.isKnown) budget = Math.max(budget, ofKey.budget);
    return { ...options, maxBatchCost: budget };
  }

  stats(options: ResolvedOptions): LearnedStats | null {
    if (!options.learnsBatchCost) return null;
    if (this.#ofAll === null) return Object.freeze({ maxBatchCost: 0, state: "learning" });
    return Object.freeze({ maxBatchCost: this.limits(options).maxBatchCost, state: this.#ofAll.state });
  }

  /**
   * Free slots share the items that may go, of all lanes, so that none idles while another has it
   * all. None gets less than the part of a call's cost that its items do not make, where the call
   * would cost more than its part.
   */
  capsOf(lane: Lane, options: ResolvedOptions, { freeSlots, waiting, runTimes }: PackingState): LengthCaps {
    const learned = this.#learnedOf(lane.key);
    const maxBatchCost = options.learnsBatchCost ? (learned?.budget ?? coldBudget(options)) : options.maxBatchCost;
    const itemCost = lane.cost / lane.size;
    const fixedCost = learned?.fixedCost ?? itemCost;
    const caps = { ...options, maxBatchCost, fixedCost, runTimes };
    if (freeSlots === 1 || freeSlots === Infinity) return caps;
    const share = Math.max((waiting / freeSlots + 1) * itemCost, learned?.fixedCost ?? 0);
    if (options.order === "length") return { ...caps, share };
    return { ...options, maxBatchCost: Math.min(maxBatchCost, share) };
  }

  /** What is known of a key: of all batches, until enough of its own have run. */
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
  const { cost, size, itemsCost } = batch;
  if (batch.failure?.hasFailed) runCosts.recordFailure(cost);
  else if (batch.showsTooLong(callMs)) runCosts.recordLate(cost, size, callMs, itemsCost || cost);
  else runCosts.record(cost, size, callMs, itemsCost || cost);
}

/**
 * All that waits at a cold start may be more than memory holds. Without a bound on batches, each
 * item would be one.
 */
function coldBudget({ concurrency, maxBatchCost }: ResolvedOptions): number {
  return concurrency === Infinity ? maxBatchCost : ONE_ITEM;
}
