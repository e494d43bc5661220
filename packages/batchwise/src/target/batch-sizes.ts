// How large batches may be for a latency target, and how long they take: learned from the batches
// that have ended. Sees neither the waiting items nor the running batches.

import type { LearnedStats } from "../core/contract/stats.ts";
import { FailedSizes } from "../core/policy/failed-sizes.ts";
import type { EndedBatch } from "../core/policy/packer.ts";
import type { TargetView } from "../core/policy/target-rule.ts";
import { RunTimeModel } from "./run-time-model.ts";
import { SlowSizes } from "./slow-sizes.ts";

/** No item is refused for time before this many batches have ended. */
const FIRST_BATCHES = 3;
/** Batches after which it is known whether a single item can be in time. */
const KNOWN_BATCHES = 16;
/** The cap until batches of half as many have succeeded. Then it doubles. */
const FIRST_CAP = 32;
/**
 * With three or more slots, a run may take at most STAGGERED of the time in which staggered runs
 * meet the target, so that the slots share the waiting items. It may always take WORTHWHILE times
 * the time of one item; otherwise few items would pay for the fixed time.
 */
const [STAGGERED, WORTHWHILE] = [0.85, 1.4];
/** While items are refused, every fourth batch may try an unknown size. */
const PROBED = 4;
/** The refused part of arrivals is averaged over about this many batches. */
const RATED = 8;
/** A higher cost counts as this one, so that multiples of it are finite. */
const HIGHEST_COST = 1e300;

export class BatchSizes {
  readonly #services: TargetView["services"];
  readonly #model: RunTimeModel = new RunTimeModel();
  readonly #slow: SlowSizes = new SlowSizes();
  readonly #failed: FailedSizes = new FailedSizes();
  #ended = 0;
  /** The refused share of recent arrivals. */
  refusedShare = 0;
  /** The mean cost of an item. */
  itemCost = 1;
  /** Maximum items of the next batch. */
  cap: number = FIRST_CAP;
  /** True if even runs of few items take most of the time that several slots leave them. */
  isTight = false;

  constructor(services: TargetView["services"]) {
    this.#services = services;
  }

  /** True if enough batches have ended to refuse items by their times. */
  get isReady(): boolean {
    return this.#ended >= FIRST_BATCHES;
  }

  /** Maximum cost of the next batch. */
  get cost(): number {
    return this.cap * this.itemCost;
  }

  /** Expected run time, in ms; 0 before the first batch. */
  predict(cost: number): number {
    return this.#model.predict(cost);
  }

  /**
   * Upper estimate of the run time for this cost, at most that of a full batch. Trials, and
   * sometimes in overload sizes up to twice the largest known, get the estimate of a known size, so
   * that a first guess that is too high gets corrected.
   */
  upper(itemsCost: number): number {
    const cost = Math.min(itemsCost, this.cost);
    const isProbe = this.refusedShare > 0.05 && this.#ended % PROBED === 0;
    const known = Math.max(this.#trial / 2, isProbe ? Math.max(this.#model.largest, cost / 2) : 0);
    return this.#model.upper(cost <= 2 * known ? Math.min(cost, known) : cost);
  }

  /** Up to this cost the next batch may run although it is expected to be late. */
  get #trial(): number {
    return this.#slow.trial(this.#services.options.concurrency);
  }

  /** How long runs of several slots may be for items that just missed one to be in the next. */
  get #staggeredMs(): number {
    const { concurrency, targetLatencyMs } = this.#services.options;
    return targetLatencyMs / (1 + 1 / concurrency);
  }

  /** Sets the cap. Call when the options have changed. */
  choose(hasRefused: boolean): void {
    const model = this.#model;
    const { concurrency, maxBatchCost, maxBatchSize } = this.#services.options;
    let cost = Math.max(2 * this.#failed.largest, FIRST_CAP * this.itemCost);
    if (model.largest > 0) {
      cost = Math.min(cost, model.efficient);
      const staggeredMs = STAGGERED * this.#staggeredMs;
      const worthwhileMs = WORTHWHILE * model.upper(this.itemCost);
      this.isTight = concurrency > 1 && worthwhileMs > staggeredMs;
      if (concurrency > 2) cost = Math.min(cost, model.costWithin(Math.max(staggeredMs, worthwhileMs)));
      if (hasRefused && this.#ended % PROBED === 0) cost = Math.min(cost, model.unknownBelow(cost));
    }
    cost = Math.min(Math.max(cost, this.#trial), this.#failed.safe, maxBatchCost) / this.itemCost;
    this.cap = Math.max(1, Math.floor(Math.min(maxBatchSize, cost)));
  }

  /**
   * Learns from a batch that has ended, and sets the cap. `refused`: number of items refused since
   * the last one. Failed, aborted and first runs teach no times.
   */
  record(batch: EndedBatch, callMs: number | undefined, refused: number): void {
    const { size, isPart, failure, wasLeft } = batch;
    const cost = Math.min(batch.cost, HIGHEST_COST);
    this.#ended += 1;
    this.refusedShare += (refused / (refused + size) - this.refusedShare) / RATED;
    // Without callers a run may have stopped before its end.
    const isWhole = callMs !== undefined && !isPart && (!wasLeft || callMs > this.predict(cost));
    if (failure?.hasFailed || failure?.isSplit) {
      // If a batch was split, some of its items may be at fault, unless no batch of its size has
      // succeeded.
      const isOfSize = !failure.isSplit || cost > this.#failed.largest;
      if (!wasLeft && isOfSize) this.#failed.failed(cost, size);
    } else if (isWhole) {
      this.#failed.succeeded(cost);
      // Items of no cost say nothing of the others.
      if (cost > 0) this.itemCost += (cost / size - this.itemCost) / Math.min(this.#ended, 32);
      if (this.#ended > 1) this.#learn(cost, callMs, refused > 0);
    }
    // Smaller batches are far from the cap.
    if (failure !== null || refused > 0 || 2 * size >= this.cap) this.choose(refused > 0);
    if (this.#ended === KNOWN_BATCHES) this.#warnOfShortTarget();
  }

  #learn(cost: number, callMs: number, hasRefused: boolean): void {
    const { concurrency, targetLatencyMs } = this.#services.options;
    // The first times may come from a stall, and there is nothing yet to compare them with.
    if (this.#ended <= FIRST_BATCHES) callMs = Math.min(callMs, 2 * targetLatencyMs);
    if (hasRefused && this.#slow.record(cost, callMs, this.predict(cost), concurrency)) {
      this.#model.forgetAbove(this.#slow.largest);
    }
    this.#model.record(cost, callMs);
  }

  #warnOfShortTarget(): void {
    const { events, options } = this.#services;
    const { targetLatencyMs } = options;
    const runMs = Math.ceil(this.predict(this.itemCost));
    if (runMs <= targetLatencyMs) return;
    const short = `\`targetLatencyMs\` ${targetLatencyMs} is shorter than a run of one item (about ${runMs} ms)`;
    events.warn("OPTIONS", `${short}: nothing is answered in time. Set it to at least ${2 * runMs}.`);
  }

  /** `refused`: number of all refused items. */
  stats(refused: number): LearnedStats {
    const model = this.#model;
    const { largest } = model;
    const unitMs = (2 * (model.predict(largest) - model.predict(largest / 2))) / largest || 0;
    const { concurrency, maxBatchCost, maxBatchSize } = this.#services.options;
    const most = Math.min(model.efficient, this.#failed.safe, maxBatchCost, maxBatchSize * this.itemCost);
    const cost = Math.min(model.costWithin(this.#staggeredMs), most);
    const capacityPerSecond = (1_000 * concurrency * cost) / this.itemCost / model.predict(cost) || 0;
    const fixedMs = Math.max(0, model.predict(largest) - unitMs * largest);
    return {
      maxBatchCost: Math.min(this.cost + 1e-6, maxBatchCost),
      state: largest > 0 ? "learned" : "learning",
      target: { fixedMs, unitMs, capacityPerSecond, refused },
    };
  }
}
