// Batches of similar cost share a class, which keeps their means. A class loses weight with each
// batch that belongs to another, and is forgotten below a minimum.

import { classOf } from "../core/policy/run-time-model.ts";

/** Number of batches in the mean of a class, approximately. */
const REMEMBERED = 32;
/** Lower weights are forgotten. */
const LEAST_WEIGHT = 0.5;

/** The weight of a class, at first its number of batches, and the means of these. */
export interface CostClass {
  weight: number;
  cost: number;
  /** Cost of the items without padding. */
  itemsCost: number;
  items: number;
  runMs: number;
}

/** A class's data from one batch. */
export type RunCost = Omit<CostClass, "weight">;

export class CostClasses {
  readonly #kept: number;
  readonly #classes: Map<number, CostClass> = new Map();

  /** `kept`: the share of its weight that a class keeps when a batch belongs to another. */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** The class of batches of this cost. */
  of(cost: number): Readonly<CostClass> | undefined {
    return this.#classes.get(classOf(cost));
  }

  values(): Iterable<Readonly<CostClass>> {
    return this.#classes.values();
  }

  add(run: RunCost): void {
    const key = classOf(run.cost);
    this.#fadeOthers(key);
    const known = this.#classes.get(key);
    if (known === undefined) {
      this.#classes.set(key, { weight: 1, ...run });
      return;
    }
    known.weight = Math.min(known.weight + 1, REMEMBERED);
    known.cost += (run.cost - known.cost) / known.weight;
    known.itemsCost += (run.itemsCost - known.itemsCost) / known.weight;
    known.items += (run.items - known.items) / known.weight;
    known.runMs += (run.runMs - known.runMs) / known.weight;
  }

  /** Forgets the classes of at least this mean cost; 0 forgets all. */
  forgetFrom(cost: number): void {
    for (const [key, known] of this.#classes) if (known.cost >= cost) this.#classes.delete(key);
  }

  #fadeOthers(key: number): void {
    for (const [other, known] of this.#classes) {
      if (other === key) continue;
      known.weight *= this.#kept;
      if (known.weight < LEAST_WEIGHT) this.#classes.delete(other);
    }
  }
}
