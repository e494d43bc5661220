import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Segment } from "../../src/core/queue/segment.ts";
import { Kit } from "./queue-kit.ts";

interface Item {
  readonly id: number;
  readonly tenant: string;
  readonly cost: number;
}

interface Tenant {
  readonly name: string;
  readonly items: Item[];
  deficit: number;
}

/** Deficit round robin as in the paper, on plain arrays, reading nothing ahead. */
class Reference {
  #ring: Tenant[] = [];
  #turnBegun = false;

  push(item: Item): void {
    const known = this.#ring.find(({ name }) => name === item.tenant);
    if (known === undefined) this.#ring.push({ name: item.tenant, items: [item], deficit: 0 });
    else known.items.push(item);
  }

  /** An item leaves early, if it is still there. */
  leave(id: number): void {
    for (const { items } of this.#ring) {
      const index = items.findIndex((item) => item.id === id);
      if (index >= 0) items.splice(index, 1);
    }
    this.#dropEmpty();
  }

  get size(): number {
    return this.#ring.reduce((total, { items }) => total + items.length, 0);
  }

  /** Serves up to `count` items. The quantum is the mean cost of what waits when the batch is packed. */
  take(count: number): number[] {
    const cost = this.#ring.flatMap(({ items }) => items).reduce((total, item) => total + item.cost, 0);
    const quantum = cost > 0 ? cost / this.size : 1;
    const taken: number[] = [];
    const served: Tenant[] = [];
    while (this.size > 0) {
      const current = this.#begin(quantum);
      const [next] = current.items;
      const charge = next === undefined || next.cost === 0 ? quantum : next.cost;
      if (next !== undefined && charge <= current.deficit) {
        if (taken.length === count) break;
        current.items.shift();
        current.deficit -= charge;
        taken.push(next.id);
        served.push(current);
      } else {
        this.#ring.push(this.#ring.shift() as Tenant);
        this.#turnBegun = false;
      }
    }
    this.#dropEmpty();
    return taken;
  }

  /** The tenant whose turn it is, with its quantum granted. */
  #begin(quantum: number): Tenant {
    const current = this.#ring[0] as Tenant;
    if (!this.#turnBegun) current.deficit += quantum;
    this.#turnBegun = true;
    return current;
  }

  #dropEmpty(): void {
    const [current] = this.#ring;
    this.#ring = this.#ring.filter(({ items }) => items.length > 0);
    if (this.#ring[0] !== current) this.#turnBegun = false;
  }
}

type Step =
  | { readonly push: { readonly tenant: string; readonly cost: number } }
  | { readonly take: number }
  | { readonly leave: number };

const step = fc.oneof(
  {
    arbitrary: fc.record({
      push: fc.record({
        tenant: fc.constantFrom("a", "a", "a", "b", "c", "d"),
        cost: fc.constantFrom(0, 1, 1, 2, 4, 16),
      }),
    }) as fc.Arbitrary<Step>,
    weight: 4,
  },
  { arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6 }) }) as fc.Arbitrary<Step>, weight: 1 },
  { arbitrary: fc.record({ leave: fc.nat(1_000) }) as fc.Arbitrary<Step>, weight: 2 },
);

test("tenants are served in the order of deficit round robin, whatever comes in between", () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 5, maxLength: 400 }),
      fc.integer({ min: 1, max: 9 }),
      (steps, segmentItems) => {
        const kit = new Kit({ fair: true, segmentItems });
        const reference = new Reference();
        const takeBoth = (count: number): void => {
          if (kit.queue.size > 0) expect(kit.take({ maxBatchSize: count })).toEqual(reference.take(count));
        };
        for (const [id, next] of steps.entries()) {
          if ("take" in next) {
            takeBoth(next.take);
          } else if ("leave" in next) {
            kit.leave(next.leave % (id + 1));
            reference.leave(next.leave % (id + 1));
          } else {
            kit.push({ id, ...next.push });
            reference.push({ id, ...next.push });
          }
        }
        while (kit.queue.size > 0) takeBoth(5);
        expect(reference.size).toBe(0);
      },
    ),
    { numRuns: 300 },
  );
});

/** Ends the test when the costs of entries are looked at more often. */
function limitSteps(most: number): void {
  const { costAt } = Segment.prototype;
  let steps = 0;
  vi.spyOn(Segment.prototype, "costAt").mockImplementation(function (this: Segment, index) {
    steps += 1;
    if (steps > most) throw new Error(`More than ${most} steps.`);
    return costAt.call(this, index);
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("fair sharing", () => {
  test("a flood of one tenant does not delay another's item by more than a round", () => {
    const kit = new Kit({ fair: true });
    for (let id = 0; id < 1_000; id += 1) kit.push({ id, tenant: "flood" });
    kit.push({ id: 5_000, tenant: "small" });
    expect(kit.take({ maxBatchSize: 4 })).toContain(5_000);
  });

  test("the costs of tenants that always wait differ by less than a quantum and two largest items", () => {
    const item = fc.record({ tenant: fc.constantFrom("a", "b", "c"), cost: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(fc.array(item, { minLength: 30, maxLength: 150 }), fc.integer({ min: 1, max: 7 }), (list, size) => {
        const kit = new Kit({ fair: true });
        const waiting = new Map<string, number>();
        const served = new Map<string, number>();
        for (const [id, { tenant, cost }] of list.entries()) {
          kit.push({ id, tenant, cost });
          waiting.set(tenant, (waiting.get(tenant) ?? 0) + 1);
          served.set(tenant, 0);
        }
        while ([...waiting.values()].every((count) => count > 0)) {
          for (const id of kit.take({ maxBatchSize: size }) as number[]) {
            const { tenant, cost } = list[id] as Item;
            waiting.set(tenant, (waiting.get(tenant) as number) - 1);
            served.set(tenant, (served.get(tenant) as number) + cost);
          }
          if ([...waiting.values()].some((count) => count === 0)) break;
          const shares = [...served.values()];
          expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(9 + 2 * 9);
        }
      }),
    );
  });

  test("a tenant that pays nothing takes turns too", () => {
    const kit = new Kit({ fair: true });
    for (let id = 0; id < 6; id += 1) kit.push({ id, tenant: id < 4 ? "free" : "paying", cost: id < 4 ? 0 : 1 });
    const order = kit.takeAll({ maxBatchSize: 1 }).flat();
    expect(order.indexOf(4)).toBeLessThan(order.indexOf(3));
  });

  test("a tenant that comes back has saved nothing up", () => {
    const kit = new Kit({ fair: true });
    kit.push({ id: 1, tenant: "a", cost: 1 }, { id: 2, tenant: "b", cost: 9 });
    kit.takeAll({ maxBatchSize: 1 });
    kit.push({ id: 3, tenant: "a" }, { id: 4, tenant: "b" }, { id: 5, tenant: "a" }, { id: 6, tenant: "b" });
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([3, 4, 5, 6]);
  });

  test("a quantum far below what waits takes no more steps: the rounds that nobody can pay for are skipped", () => {
    limitSteps(100_000);
    const kit = new Kit({ fair: true });
    for (let id = 1; id <= 100; id += 1) kit.push({ id, tenant: id % 2 === 0 ? "a" : "b" });
    for (const id of [101, 102]) kit.push({ id, tenant: "dear", cost: 1e30 }).leave(id);
    kit.push({ id: 103, tenant: "cheap", cost: 1e-12 });
    expect(kit.take({ maxBatchSize: 5 })).toEqual([103, 1, 2, 3, 4]);
  });

  test("costs that add up to more than a number can hold are shared like others", () => {
    limitSteps(1_000);
    const kit = new Kit({ fair: true });
    for (const id of [1, 2, 3, 4]) kit.push({ id, tenant: id < 3 ? "dear" : "free", cost: id < 3 ? 1.7e308 : 0 });
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([1, 3, 4, 2]);
  });

  test("the mean of what waits is right again when something dear has left", () => {
    const kit = new Kit({ fair: true });
    kit.push({ id: 1, tenant: "a", cost: 1e16 });
    for (const id of [2, 3, 4, 5]) kit.push({ id, tenant: id % 2 === 0 ? "a" : "b", cost: 1.25 });
    kit.leave(1);
    expect(kit.queue.plain.cost).toBe(5);
  });

  test("each tenant's own items stay in order, and those who leave are passed over", () => {
    const kit = new Kit({ fair: true, segmentItems: 2 });
    for (let id = 0; id < 12; id += 1) kit.push({ id, tenant: id % 3 === 0 ? "a" : "b" });
    kit.leave(0, 4, 5, 9);
    const order = kit.takeAll({ maxBatchSize: 3 }).flat() as number[];
    expect(order.filter((id) => id % 3 === 0)).toEqual([3, 6]);
    expect(order.filter((id) => id % 3 !== 0)).toEqual([1, 2, 7, 8, 10, 11]);
  });
});
