// Self-clocked fair queueing as in the paper, on plain arrays, reading nothing ahead. What FairOrder is compared with.

export interface Served {
  readonly id: number;
  readonly tenant: string;
  readonly cost: number;
}

interface Tenant {
  readonly name: string;
  readonly items: Served[];
  /** The finish of what it was served last, and of what it is served next. */
  finish: number;
  next: number;
  turn: number;
}

/** An item that costs nothing is charged the mean cost of what came lately; see fair-order.ts. */
const REMEMBERED = 1024;

export class FairReference {
  #tenants: Tenant[] = [];
  #now = 0;
  #turns = 0;
  #cost = 0;
  #count = 0;

  get size(): number {
    return this.#tenants.reduce((total, { items }) => total + items.length, 0);
  }

  push(item: Served): void {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#count += 1;
    this.#cost += item.cost;
    const known = this.#tenants.find(({ name }) => name === item.tenant);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    this.#turns += 1;
    const tenant = { name: item.tenant, items: [item], finish: this.#now, next: 0, turn: this.#turns };
    this.#tenants.push(tenant);
    this.#charge(tenant);
  }

  /** An item leaves early, if it is still there. */
  leave(id: number): void {
    for (const tenant of this.#tenants) {
      const index = tenant.items.findIndex((item) => item.id === id);
      if (index === -1) continue;
      tenant.items.splice(index, 1);
      this.#charge(tenant);
    }
    this.#dropEmpty();
  }

  /** Serves up to `count` items. */
  take(count: number): number[] {
    const taken: number[] = [];
    while (taken.length < count && this.size > 0) {
      const waiting = this.#tenants.filter(({ items }) => items.length > 0);
      const [first] = waiting.toSorted((a, b) => a.next - b.next || a.turn - b.turn) as [Tenant];
      taken.push((first.items.shift() as Served).id);
      first.finish = first.next;
      this.#now = Math.max(this.#now, first.next);
      this.#turns += 1;
      first.turn = this.#turns;
      this.#charge(first);
    }
    this.#dropEmpty();
    return taken;
  }

  #charge(tenant: Tenant): void {
    const [next] = tenant.items;
    if (next === undefined) return;
    const mean = this.#cost > 0 ? this.#cost / this.#count : 1;
    tenant.next = tenant.finish + (next.cost === 0 ? mean : next.cost);
  }

  /** A tenant with nothing left is forgotten; with the last one, the time and the mean. */
  #dropEmpty(): void {
    this.#tenants = this.#tenants.filter(({ items }) => items.length > 0);
    if (this.#tenants.length > 0) return;
    this.#now = 0;
    this.#cost = 0;
    this.#count = 0;
  }
}
