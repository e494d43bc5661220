// Learns the cost of a handler's runs from the last batches: the time of a batch by its cost, the
// cost of a call besides its items, and the cost up to which a larger batch pays. Assumes nothing
// about the handler: batches of similar cost share a class, and each class keeps its mean time.
// Classes are compared by time per unit of their items' own cost, so padding is not a gain.
//
// The budget is the largest class whose time per unit is close to the lowest. While no larger
// batches are known, the next ones may cost twice as much. Unused classes are forgotten, so larger
// batches are tried again now and then, in case the handler has changed.
//
// Batches too fast for the clock have no time to compare: until slower ones are known, the next
// ones may cost twice as much.
//
// A failed batch may have failed because of its size (FailedSizes). A batch that outran its
// callers' deadlines did.

import type { LearnedStats } from "../core/contract/stats.ts";
import { CostClasses, ENOUGH, type RunCost } from "../core/policy/cost-classes.ts";
import { FailedSizes } from "../core/policy/failed-sizes.ts";
import { fixedCostOf } from "./cost-line.ts";

/** Number of batches in the mean cost of an item, approximately. */
const REMEMBERED = 32;
/** Share of its weight that a class keeps when a batch belongs to another. */
const KEPT: number = 1 - 1 / 64;
/**
 * A batch is odd if it takes this many times its usual time, or this fraction of it: the machine
 * may have been busy.
 */
const ODD = 2;
/** After this many odd batches in a row the handler has changed, and everything is forgotten. */
const MOST_ODD = 3;
/**
 * If odd batches are common, more are needed in a row: enough that chance produces such a row with
 * at most this probability.
 */
const CHANCE = 1e-5;
/** Number of batches in the mean share of odd ones, approximately. */
const WATCHED = 256;
/** Time per unit within this factor of the lowest counts as equal. */
const AS_GOOD = 1.02;
/**
 * A call's fixed cost is at most that of this many items; above it, an item's cost would have no
 * effect.
 */
const MOST_FIXED = 1_000;

export class RunCosts {
  readonly #classes: CostClasses = new CostClasses(KEPT);
  #batches = 0;
  /** The mean cost of an item, padding included. */
  #itemCost = 1;
  /** The class of the budget. */
  #best: ReturnType<CostClasses["best"]> = null;
  #wasKnown = false;
  #oddInARow = 0;
  /** The share of odd batches, without the current row of them. */
  #oddShare = 0;
  readonly #sizes: FailedSizes = new FailedSizes();
  /** Highest recent cost of a batch that took no time by this clock. */
  #quickCost = 0;

  /** Learns from a batch that has run; ignores one without a cost. `itemsCost`: without padding. */
  record(cost: number, items: number, runMs: number, itemsCost: number): void {
    if (!(cost > 0 && cost < Infinity && runMs >= 0)) return;
    this.#sizes.succeeded(cost);
    if (runMs === 0) {
      this.#quickCost = Math.max(this.#quickCost, cost);
      return;
    }
    if (cost <= this.#quickCost) this.#quickCost = 0;
    this.#batches += 1;
    this.#itemCost += (cost / items - this.#itemCost) / Math.min(this.#batches, REMEMBERED);
    this.#remember({ cost, items, runMs, itemsCost });
    this.#chooseBest();
  }

  /**
   * Learns from a batch that outran deadlines, so failed because of its size. If its items took
   * only a small part of the time, smaller batches would not be much faster, and fewer callers
   * would be served.
   */
  recordLate(cost: number, items: number, runMs: number, itemsCost: number): void {
    const fixedCost = fixedCostOf(this.#classes) ?? Infinity;
    if (cost <= fixedCost || cost === Infinity) this.record(cost, items, runMs, itemsCost);
    else this.recordFailure(cost, items);
  }

  /** Learns from a failed batch. */
  recordFailure(cost: number, items: number): void {
    this.#sizes.failed(cost, items);
  }

  /** True when enough batches of similar cost have run for a budget. */
  get isKnown(): boolean {
    return this.#best !== null;
  }

  get state(): LearnedStats["state"] {
    if (this.#best !== null) return "learned";
    return this.#wasKnown ? "relearning" : "learning";
  }

  /** The highest cost of the next batch. A single item may always go. */
  get budget(): number {
    const cold = Math.max(2 * this.#quickCost, this.#itemCost * (1 + (this.#batches % 4)));
    const next = this.#best === null ? cold : this.#best.cost * (this.#best.isLargest ? 2 : AS_GOOD);
    return Math.min(next, this.#sizes.safe);
  }

  /**
   * The cost of a call besides its items, in units of cost. At least that of an item until a budget
   * is known.
   */
  get fixedCost(): number {
    const fixedCost = Math.min(fixedCostOf(this.#classes) ?? this.#itemCost, MOST_FIXED * this.#itemCost);
    return this.#best === null ? Math.max(fixedCost, this.#itemCost) : fixedCost;
  }

  #remember(run: RunCost): void {
    const { cost, runMs } = run;
    const known = this.#classes.of(cost);
    if (known === undefined) {
      this.#classes.add(run);
      return;
    }
    const usualMs = (cost / known.cost) * known.runMs;
    const isOdd = known.weight > ENOUGH && (runMs > ODD * usualMs || runMs < usualMs / ODD);
    this.#countOdd(isOdd);
    if (this.#oddInARow >= Math.max(MOST_ODD, Math.log(CHANCE) / Math.log(this.#oddShare))) {
      this.#oddInARow = 0;
      this.#classes.forgetFrom(0);
      return;
    }
    this.#classes.add({ ...run, runMs: isOdd ? Math.min(runMs, ODD * usualMs) : runMs });
  }

  #countOdd(isOdd: boolean): void {
    if (isOdd) {
      this.#oddInARow += 1;
      return;
    }
    this.#oddShare += (this.#oddInARow - this.#oddShare * (this.#oddInARow + 1)) / WATCHED;
    this.#oddInARow = 0;
  }

  #chooseBest(): void {
    this.#best = this.#classes.best(AS_GOOD);
    this.#wasKnown ||= this.#best !== null;
  }
}
