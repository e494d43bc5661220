// Start-time fair queueing on plain arrays, without reading ahead. The reference for FairLine.

export interface Served {
  readonly id: number;
  readonly tenant: string;
  readonly cost: number;
}

interface Tenant {
  readonly name: string;
  readonly items: Served[];
  start: number;
  turn: number;
}

/** Number of entries in the mean cost, approximately; see fair-line.ts. */
const REMEMBERED = 1024;

export class FairReference {
  #tenants: Tenant[] = [];
  #virtualTime = 0;
  #turns = 0;
  #cost = 0;
  #count = 0;

  get size(): number {
    return this.#tenants.reduce((total, { items }) => total + items.length, 0);
  }

  get #waiting(): Tenant[] {
    return this.#tenants.filter(({ items }) => items.length > 0);
  }

  #now(): number {
    this.#virtualTime = Math.max(
      this.#virtualTime,
      ...this.#waiting
        .map(({ start }) => start)
        .toSorted((a, b) => a - b)
        .slice(0, 1),
    );
    return this.#virtualTime;
  }

  #turn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  push(item: Served): void {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#count += 1;
    this.#cost += item.cost;
    let tenant = this.#tenants.find(({ name }) => name === item.tenant);
    if (tenant === undefined) {
      tenant = { name: item.tenant, items: [], start: 0, turn: 0 };
      this.#tenants.push(tenant);
    }
    if (tenant.items.length === 0)
      Object.assign(tenant, { start: Math.max(tenant.start, this.#now()), turn: this.#turn() });
    tenant.items.push(item);
  }

  /** Removes an item early, if it is still there. */
  leave(id: number): void {
    for (const { items } of this.#tenants) {
      const index = items.findIndex((item) => item.id === id);
      if (index !== -1) items.splice(index, 1);
    }
    this.#endIfEmpty();
  }

  /** Serves up to `count` items as one batch: time moves on when all of them have been chosen. */
  take(count: number): number[] {
    const mean = this.#cost > 0 ? this.#cost / this.#count : 1;
    const taken: number[] = [];
    const before = new Map(this.#tenants.map((tenant) => [tenant, tenant.start]));
    const waiting = this.#waiting;
    while (taken.length < count && this.size > 0) {
      const [next] = this.#waiting.toSorted((a, b) => a.start - b.start || a.turn - b.turn) as [Tenant];
      const item = next.items.shift() as Served;
      next.start += item.cost > 0 ? item.cost : mean;
      next.turn = this.#turn();
      taken.push(item.id);
    }
    const served = waiting.reduce((sum, tenant) => sum + tenant.start - (before.get(tenant) as number), 0);
    if (served > 0) this.#virtualTime += served / waiting.length;
    this.#endIfEmpty();
    return taken;
  }

  #endIfEmpty(): void {
    if (this.size > 0) return;
    this.#tenants = [];
    this.#cost = 0;
    this.#count = 0;
    this.#virtualTime = 0;
  }
}
