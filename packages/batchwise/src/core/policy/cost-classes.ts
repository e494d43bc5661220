// The run times of batches by their cost. Batches of similar cost share a class, four to a
// doubling, which keeps their means. A class loses weight with each batch that belongs to another,
// and is forgotten in the end.

/** Number of classes for each doubling of cost. */
export const CLASSES_PER_OCTAVE = 4;
/** Number of batches in the mean of a class, approximately. */
const REMEMBERED = 32;
/** Classes of lower weight are forgotten. */
const LEAST_WEIGHT = 0.5;
/** Batches of a class with fewer items on average are mostly single items. */
const NEARLY_TWO = 1.5;
/** A class is compared with others after this many batches. */
export const ENOUGH = 3;

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

/** The class of batches of similar cost. */
export const classOf = (cost: number): number => Math.round(CLASSES_PER_OCTAVE * Math.log2(cost));

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

  /** All classes in a new array, the lowest cost first. */
  byCost(): Readonly<CostClass>[] {
    return [...this.#classes.values()].sort((a, b) => a.cost - b.cost);
  }

  add(run: RunCost): void {
    const key = classOf(run.cost);
    for (const [other, one] of this.#classes) {
      if (other !== key) one.weight *= this.#kept;
      if (one.weight < LEAST_WEIGHT) this.#classes.delete(other);
    }
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

  /**
   * The largest class that serves about as much per unit of time as any, and whether none of larger
   * batches is known; null while no class is known well enough.
   */
  best(asGood: number): (Readonly<CostClass> & { readonly isLargest: boolean }) | null {
    const known = this.byCost().filter(({ weight }) => weight >= ENOUGH);
    const least = asGood * Math.min(...known.map(unitMs));
    const best = known.findLast((one) => unitMs(one) <= least);
    if (best === undefined) return null;
    // Single items that cost more say nothing about larger batches.
    return { ...best, isLargest: known.every(({ cost, items }) => cost <= best.cost || items < NEARLY_TWO) };
  }
}

/** Time per unit of the items' own cost, so that padding is no gain. */
function unitMs({ itemsCost, runMs }: Readonly<CostClass>): number {
  return runMs / itemsCost;
}
