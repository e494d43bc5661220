// Deficit round robin as in the paper, on plain arrays, reading nothing ahead. What FairOrder is
// compared with.

export interface Served {
  readonly id: number;
  readonly tenant: string;
  readonly cost: number;
}

interface Tenant {
  readonly name: string;
  readonly items: Served[];
  deficit: number;
}

/** The quantum is the mean cost of what came lately; see fair-order.ts. */
const REMEMBERED = 1024;

export class FairReference {
  #ring: Tenant[] = [];
  #isGranted = false;
  #cost = 0;
  #count = 0;

  get size(): number {
    return this.#ring.reduce((total, { items }) => total + items.length, 0);
  }

  push(item: Served): void {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#count += 1;
    this.#cost += item.cost;
    const known = this.#ring.find(({ name }) => name === item.tenant);
    if (known === undefined) this.#ring.push({ name: item.tenant, items: [item], deficit: 0 });
    else known.items.push(item);
  }

  /** An item leaves early, if it is still there. */
  leave(id: number): void {
    for (const { items } of this.#ring) {
      const index = items.findIndex((item) => item.id === id);
      if (index !== -1) items.splice(index, 1);
    }
    this.#dropEmpty();
  }

  /** Serves up to `count` items. */
  take(count: number): number[] {
    const quantum = this.#cost > 0 ? this.#cost / this.#count : 1;
    const taken: number[] = [];
    while (this.size > 0) {
      const current = this.#ring[0] as Tenant;
      if (!this.#isGranted && current.items.length > 0) current.deficit += quantum;
      this.#isGranted = true;
      const [next] = current.items;
      const charge = next === undefined || next.cost === 0 ? quantum : next.cost;
      if (next !== undefined && charge <= current.deficit) {
        if (taken.length === count) break;
        current.items.shift();
        current.deficit -= charge;
        taken.push(next.id);
      } else {
        this.#ring.push(this.#ring.shift() as Tenant);
        this.#isGranted = false;
      }
    }
    this.#dropEmpty();
    return taken;
  }

  /** A tenant with nothing left leaves the ring and its savings. */
  #dropEmpty(): void {
    const [current] = this.#ring;
    this.#ring = this.#ring.filter(({ items }) => items.length > 0);
    if (this.#ring[0] !== current) this.#isGranted = false;
    if (this.#ring.length > 0) return;
    this.#cost = 0;
    this.#count = 0;
  }
}
