// Batches of similar cost share a class, which remembers their means. A class that no batch falls
// into any more loses weight with each that falls into another, and is forgotten in the end.

/** So many classes to a doubling of cost. */
const CLASSES_PER_OCTAVE = 4;
/** A class is the mean of about so many batches. */
const REMEMBERED = 32;
/** A class with less weight is forgotten. */
const LEAST_WEIGHT = 0.5;

/** The weight of a class, which is the number of its batches at first, and the means of these. */
export interface CostClass {
  weight: number;
  cost: number;
  /** What the items cost by themselves, without padding. */
  itemsCost: number;
  items: number;
  runMs: number;
}

/** What a class learns of a batch. */
export type RunCost = Omit<CostClass, "weight">;

export class CostClasses {
  readonly #kept: number;
  readonly #classes: Map<number, CostClass> = new Map();

  /** `kept`: the part of its weight that a class keeps when a batch falls into another. */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** The class that a batch of this cost falls into. */
  of(cost: number): Readonly<CostClass> | undefined {
    return this.#classes.get(keyOf(cost));
  }

  values(): Iterable<Readonly<CostClass>> {
    return this.#classes.values();
  }

  add(run: RunCost): void {
    const key = keyOf(run.cost);
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

  /** Forgets the classes of at least this mean cost; all of them where it is 0. */
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

function keyOf(cost: number): number {
  return Math.round(CLASSES_PER_OCTAVE * Math.log2(cost));
}
