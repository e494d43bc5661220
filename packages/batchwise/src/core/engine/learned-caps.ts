// What is learned of how long the handler's calls take: how long before a deadline a batch has to go, and the caps of the
// next batch where they depend on it, with `maxBatchCost: "learn"` and `order: "length"`. Elsewhere the caps are the
// options as they were given. What counts is the last call of a batch, without opening, pauses and earlier calls.

import type { ResolvedOptions } from "../contract/options.ts";
import type { LearnedStats } from "../contract/stats.ts";
import type { Caps } from "../policy/caps.ts";
import { RunCosts } from "../policy/run-costs.ts";
import { RunTimes } from "../policy/run-times.ts";
import type { Lane } from "../queue/lane.ts";
import type { Batch } from "../run/batch.ts";

/** No item but the first fits, unless it costs nothing. */
const ONE_ITEM: number = Number.MIN_VALUE;

/**
 * A few keys may be models of their own, which differ in speed; many are users of one. Above this number all keys share
 * what has been learned.
 */
const MOST_KEYS = 8;

/** What a batch has shown of how long its calls take. */
type EndedBatch = Pick<Batch, "facts" | "callMs" | "isSplit" | "isPart" | "hasFailed" | "hasFailedHalf" | "departures">;

export class LearnedCaps {
  /** Of all batches. */
  #ofAll: RunCosts | null = null;
  /** Of the batches of each key; made with the first one, null once there have been too many of them. */
  #byKey: Map<string, RunCosts> | null | undefined = undefined;

  #times: RunTimes | null = null;

  /** Learns from a batch that has ended. */
  record(batch: EndedBatch, options: ResolvedOptions): void {
    const { callMs } = batch;
    // Where the last caller left before or between calls, nothing is known of them.
    if (callMs === undefined) return;
    this.#times ??= new RunTimes();
    this.#times.record(callMs);
    if (!isLearning(options)) return;
    if (batch.isSplit) this.#recordSplit(batch);
    else if (!batch.isPart) this.#recordWhole(batch, callMs);
  }

  /** A batch that failed, and of which each half succeeded, was too large, or unlucky. */
  #recordSplit({ facts, hasFailedHalf }: EndedBatch): void {
    if (hasFailedHalf || this.#ofAll === null) return;
    this.#ofAll.recordFailure(facts.cost);
    this.#forKey(facts.key)?.recordFailure(facts.cost);
  }

  #recordWhole(batch: EndedBatch, callMs: number): void {
    const { hasFailed, departures } = batch;
    if (this.#ofAll === null && hasFailed) return;
    // One that was called off shows nothing of its size, unless deadlines did that.
    const wasCalledOff = departures?.isComplete === true && hasFailed;
    if (wasCalledOff && !isTooLong(batch, callMs)) return;
    this.#ofAll ??= new RunCosts();
    learn(this.#ofAll, batch, callMs);
    const ofKey = this.#forKey(batch.facts.key);
    if (ofKey !== undefined) learn(ofKey, batch, callMs);
  }

  /** How long before a deadline its batch has to go, in milliseconds; undefined until a first batch has ended. */
  get leadMs(): number | undefined {
    return this.#times?.leadMs;
  }

  /** The options, with a cap that no lane's next batch exceeds. Before one is learned, a lane is full by its size alone. */
  limits(options: ResolvedOptions): ResolvedOptions {
    if (!options.learnsBatchCost || this.#ofAll === null) return options;
    let { budget } = this.#ofAll;
    for (const ofKey of this.#byKey?.values() ?? []) if (ofKey.isKnown) budget = Math.max(budget, ofKey.budget);
    return { ...options, maxBatchCost: budget };
  }

  /** What users see of it; null where no budget is learned. */
  stats(options: ResolvedOptions): LearnedStats | null {
    if (!options.learnsBatchCost) return null;
    if (this.#ofAll === null) return Object.freeze({ maxBatchCost: 0, state: "learning" });
    return Object.freeze({ maxBatchCost: this.limits(options).maxBatchCost, state: this.#ofAll.state });
  }

  /**
   * The caps of a lane's next batch. Free slots share the `waiting` items that may go, of all lanes, so that none idles while
   * another has it all; none gets less than what a call costs besides its items, where the call would cost more than its part.
   */
  capsOf(lane: Lane, options: ResolvedOptions, freeSlots: number, waiting: number): Caps {
    if (!isLearning(options)) return options;
    const learned = this.#learnedOf(lane.key);
    const maxBatchCost = options.learnsBatchCost ? (learned?.budget ?? coldBudget(options)) : options.maxBatchCost;
    const itemCost = lane.cost / lane.size;
    const fixedCost = learned?.fixedCost ?? itemCost;
    const caps = { ...options, maxBatchCost, fixedCost, runTimes: this.#times };
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

/** True for a call that was longer than the deadlines of its callers allow. */
function isTooLong({ departures, facts }: EndedBatch, callMs: number): boolean {
  return departures?.showsTooLong(facts.size, callMs) === true;
}

function learn(runCosts: RunCosts, batch: EndedBatch, callMs: number): void {
  const { cost, size, itemsCost } = batch.facts;
  if (batch.hasFailed) runCosts.recordFailure(cost);
  else if (isTooLong(batch, callMs)) runCosts.recordLate(cost, size, callMs, itemsCost || cost);
  else runCosts.record(cost, size, callMs, itemsCost || cost);
}

/** All that waits at a cold start may be more than memory holds. Without a bound on batches, each item would be one. */
function coldBudget({ concurrency, maxBatchCost }: ResolvedOptions): number {
  return concurrency === Infinity ? maxBatchCost : ONE_ITEM;
}

/** True where anything is learned from batches. */
export function isLearning({ learnsBatchCost, order }: ResolvedOptions): boolean {
  return learnsBatchCost || order === "length";
}
