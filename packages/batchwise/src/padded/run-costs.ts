// What a handler's runs cost, learned from the last batches: how long a batch takes by its cost,
// what a call costs besides its items, and up to which cost a larger batch is worth it. Nothing is
// assumed of the handler: batches of similar cost share a class, and each class remembers its mean
// time. The classes are compared by time per unit of what the items cost by themselves: padding is
// no gain.
//
// The budget is the largest class whose time per such unit is nearly the least. While no larger
// batches are known, the next ones may cost twice as much. Classes that are no longer used are
// forgotten, so larger batches are tried again now and then, in case the handler has changed.
//
// Batches too quick for the clock have no time to compare: until some are known that do, the next
// ones may cost twice as much as they did.
//
// A batch that fails and was larger than the budget may have failed for its size: it took all
// memory, or too long. One that outruns the deadlines of its callers has. No larger ones are tried
// for a while, each time for longer. Where three in a row fail that were no larger, classes of
// their size and above are forgotten.

import type { LearnedStats } from "../core/contract/stats.ts";
import { type CostClass, CostClasses, type RunCost } from "./cost-classes.ts";
import { CostLine } from "./cost-line.ts";

/** The mean cost of an item is that of about so many batches. */
const REMEMBERED = 32;
/** A class counts once it has seen so many. */
const ENOUGH = 3;
/** What a class keeps of its weight when a batch falls into another. */
const KEPT = 0.97;
/**
 * A batch is odd that takes so many times what is usual, or so small a part of it: the machine may
 * have been busy.
 */
const ODD = 2;
/** So many odd ones in a row, and the handler has changed: all is forgotten. */
const MOST_ODD = 3;
/**
 * Where odd ones are usual it takes more: so many that chance alone puts them in a row with this
 * probability at most.
 */
const CHANCE = 1e-5;
/** How usual they are is the mean of about so many batches. */
const WATCHED = 256;
/** Time per unit this close to the least is as good. */
const AS_GOOD = 1.02;
/** Batches of a class with fewer items on average are mostly single items. */
const NEARLY_TWO = 1.5;
/** A call costs no more than so many items do, or what an item costs would not count any more. */
const MOST_FIXED = 1_000;
/**
 * After a larger batch has failed, so many go before another is tried; twice as many after each
 * further failure.
 */
const FIRST_PAUSE = 16;
const LONGEST_PAUSE = 1_024;
/** Until then no batch costs more than this part of the one that failed. */
const SAFELY_BELOW = 0.95;

export class RunCosts {
  readonly #classes: CostClasses = new CostClasses(KEPT);
  readonly #line: CostLine = new CostLine();
  #batches = 0;
  /** The mean cost of an item, padding included. */
  #itemCost = 1;
  /** The class that the budget comes from, and whether it is the largest of all. */
  #best: Readonly<CostClass> | null = null;
  #isLargest = false;
  #wasKnown = false;
  #oddInARow = 0;
  /** The share of odd batches, without those that are in a row now. */
  #oddShare = 0;
  /** The cost of a batch that may have failed for its size; Infinity where there is none. */
  #failedCost = Infinity;
  /** So many batches go before one as large is tried again. */
  #pause = FIRST_PAUSE;
  #sinceFailure = 0;
  #failedInARow = 0;
  /** The most that a batch has cost of late that took no time by this clock. */
  #quickCost = 0;

  /**
   * Learns from a batch that has run. One without a cost tells nothing. `itemsCost`: without
   * padding.
   */
  record(cost: number, items: number, runMs: number, itemsCost: number): void {
    if (!(cost > 0 && cost < Infinity && runMs >= 0)) return;
    if (runMs === 0) {
      this.#quickCost = Math.max(this.#quickCost, cost);
      return;
    }
    if (cost <= this.#quickCost) this.#quickCost = 0;
    this.#batches += 1;
    this.#sinceFailure += 1;
    this.#failedInARow = 0;
    if (cost >= this.#failedCost) this.#forgetFailure();
    this.#itemCost += (cost / items - this.#itemCost) / Math.min(this.#batches, REMEMBERED);
    this.#remember({ cost, items, runMs, itemsCost });
    this.#chooseBest();
  }

  /**
   * Learns from a batch that took longer than deadlines allow: it has failed for its size. Where
   * its items did not take most of that time, smaller ones would hardly be quicker, and fewer would
   * be served.
   */
  recordLate(cost: number, items: number, runMs: number, itemsCost: number): void {
    const fixedCost = this.#line.fixedCost ?? Infinity;
    if (cost <= fixedCost || cost === Infinity) {
      this.record(cost, items, runMs, itemsCost);
      return;
    }
    this.#line.record({ cost, items, runMs, itemsCost });
    this.recordFailure(cost);
  }

  /**
   * Learns from a batch that has failed. A single one as large as those that succeed tells nothing
   * of sizes.
   */
  recordFailure(cost: number): void {
    if (this.#best === null) return;
    if (cost <= AS_GOOD * this.#best.cost) {
      this.#failedInARow += 1;
      if (this.#failedInARow < MOST_ODD) return;
      this.#failedInARow = 0;
      this.#classes.forgetFrom(cost / AS_GOOD);
      this.#chooseBest();
    }
    // Others that began before the failure was known do not count again.
    if (this.#isPausing && cost >= this.#failedCost) return;
    if (this.#failedCost === Infinity) this.#pause = FIRST_PAUSE;
    else if (!this.#isPausing) this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE);
    this.#failedCost = cost;
    this.#sinceFailure = 0;
  }

  /** True once batches of similar cost have been enough for a budget. */
  get isKnown(): boolean {
    return this.#best !== null;
  }

  get state(): LearnedStats["state"] {
    if (this.#best !== null) return "learned";
    return this.#wasKnown ? "relearning" : "learning";
  }

  /** What the next batch may cost. A single item may always go. */
  get budget(): number {
    if (this.#best === null) return Math.max(2 * this.#quickCost, this.#itemCost * (1 + (this.#batches % 4)));
    const { cost } = this.#best;
    return this.#belowFailure(cost, cost * (this.#isLargest ? 2 : AS_GOOD));
  }

  /**
   * What a call costs besides its items, in units of cost. At least that of an item until a budget
   * is known.
   */
  get fixedCost(): number {
    const fixedCost = Math.min(this.#line.fixedCost ?? this.#itemCost, MOST_FIXED * this.#itemCost);
    return this.#best === null ? Math.max(fixedCost, this.#itemCost) : fixedCost;
  }

  /**
   * At most half the way from what succeeds to what failed. Where hardly any is left, nothing that
   * large for a while.
   */
  #belowFailure(cost: number, wanted: number): number {
    const halfWay = (cost + this.#failedCost) / 2;
    if (halfWay > 1.1 * cost) return Math.min(wanted, halfWay);
    return this.#isPausing ? Math.min(wanted, SAFELY_BELOW * this.#failedCost) : wanted;
  }

  get #isPausing(): boolean {
    return this.#failedCost < Infinity && this.#sinceFailure < this.#pause;
  }

  #forgetFailure(): void {
    this.#failedCost = Infinity;
  }

  #remember(run: RunCost): void {
    const { cost, runMs } = run;
    const known = this.#classes.of(cost);
    if (known === undefined) {
      this.#classes.add(run);
      this.#line.record(run);
      return;
    }
    const usualMs = (cost / known.cost) * known.runMs;
    const isOdd = known.weight > ENOUGH && (runMs > ODD * usualMs || runMs < usualMs / ODD);
    this.#countOdd(isOdd);
    if (this.#oddInARow >= Math.max(MOST_ODD, Math.log(CHANCE) / Math.log(this.#oddShare))) {
      this.#oddInARow = 0;
      this.#classes.forgetFrom(0);
      this.#line.forget();
      this.#forgetFailure();
      return;
    }
    if (!isOdd) this.#line.record(run);
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
    const known = [...this.#classes.values()].filter(({ weight }) => weight >= ENOUGH);
    const least = Math.min(...known.map(unitMs));
    const byCost = known.sort((a, b) => a.cost - b.cost);
    const best = byCost.findLast((one) => unitMs(one) <= AS_GOOD * least) ?? null;
    // Single items that cost more say nothing of larger batches.
    this.#isLargest = best !== null && byCost.every(({ cost, items }) => cost <= best.cost || items < NEARLY_TWO);
    this.#best = best;
    this.#wasKnown ||= best !== null;
  }
}

function unitMs({ itemsCost, runMs }: Readonly<CostClass>): number {
  return runMs / itemsCost;
}
