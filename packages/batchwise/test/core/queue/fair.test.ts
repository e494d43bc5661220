import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { range } from "../../support.ts";
import { FairReference, type Served } from "../support/fair-reference.ts";
import { Kit, otherHolder } from "../support/queue-kit.ts";

function fair(): Kit {
  return new Kit({ isFair: true });
}

// Costs are multiples of 12, so shares of up to four tenants are whole numbers in any order.
const step = fc.oneof(
  {
    arbitrary: fc.record({
      tenant: fc.constantFrom("a", "a", "a", "b", "c", "d"),
      cost: fc.constantFrom(12, 12, 24, 48, 192, 3_600),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6 }) }), weight: 1 },
  { arbitrary: fc.record({ leave: fc.nat(1_000) }), weight: 2 },
);

describe("tenants that share a line", () => {
  test("are served in the order of their virtual starts, whatever comes and goes in between", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 400, size: "max" }), fc.boolean(), (steps, looks) => {
        const kit = fair();
        const reference = new FairReference();
        const takeBoth = (count: number): void => {
          // Looking changes nothing.
          if (looks) for (const maxBatchSize of [1, count + 2, 999]) kit.plan({ maxBatchSize });
          expect(kit.take({ maxBatchSize: count })).toEqual(reference.take(count));
        };
        for (const [id, next] of steps.entries()) {
          if ("take" in next) {
            takeBoth(next.take);
          } else if ("leave" in next) {
            kit.leave(next.leave % (id + 1));
            reference.leave(next.leave % (id + 1));
          } else {
            kit.push({ id, ...next });
            reference.push({ id, ...next });
          }
        }
        while (kit.queue.size > 0) takeBoth(5);
        expect(reference.size).toBe(0);
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });

  test("get costs that differ by less than two largest items, while they always wait", () => {
    const item = fc.record({ tenant: fc.constantFrom("a", "b", "c"), cost: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 30, maxLength: 150, size: "max" }),
        fc.integer({ min: 1, max: 7 }),
        (list, size) => {
          const kit = fair();
          const waiting: Record<string, number> = { a: 0, b: 0, c: 0 };
          const served: Record<string, number> = { a: 0, b: 0, c: 0 };
          for (const [id, { tenant, cost }] of list.entries()) {
            kit.push({ id, tenant, cost });
            waiting[tenant] = (waiting[tenant] as number) + 1;
          }
          for (;;) {
            for (const id of kit.take({ maxBatchSize: size }) as number[]) {
              const { tenant, cost } = list[id] as Served;
              waiting[tenant] = (waiting[tenant] as number) - 1;
              served[tenant] = (served[tenant] as number) + cost;
            }
            if (Object.values(waiting).some((count) => count <= 0)) break;
            const shares = Object.values(served);
            expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(2 * 9 + 1);
          }
        },
      ),
    );
  });

  test("do not wait behind a flood", () => {
    const kit = fair();
    for (const id of range(1_000)) kit.push({ id, tenant: "flood" });
    kit.push({ id: 5_000, tenant: "small" });
    expect(kit.take({ maxBatchSize: 4 })).toContain(5_000);
  });

  test("keep the order of arrival each, and have saved nothing when they come back", () => {
    const kit = fair();
    kit.push({ id: 1, tenant: "a" }, { id: 2, tenant: "b", cost: 9 }, { id: 3, tenant: "b", cost: 9 });
    kit.takeAll({ maxBatchSize: 1 });
    for (const id of [4, 5, 6, 7]) kit.push({ id, tenant: id % 2 === 0 ? "a" : "b" });
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([4, 5, 6, 7]);
  });

  test("have their oldest entry found, in any order of service", () => {
    const kit = fair().push(
      { id: 1, at: 4, tenant: "a" },
      { id: 2, at: 3, tenant: "b" },
      { id: 3, at: 5, tenant: "b" },
    );
    expect(kit.queue.oldest?.item).toBe(2);
    expect(kit.leave(2).queue.oldest?.item).toBe(1);
    expect(kit.leave(1).queue.oldest?.item).toBe(3);
    expect(kit.leave(3).queue.oldest).toBeNull();
  });

  test("are not waited for when they have been removed, and the others continue", () => {
    const kit = fair();
    for (const id of range(30)) kit.push({ id, tenant: ["a", "b", "c"][id % 3] as string });
    expect(kit.take({ maxBatchSize: 4 })).toEqual([0, 1, 2, 3]);
    kit.leave(...range(30).filter((id) => id % 3 === 0));
    expect(kit.take({ maxBatchSize: 4 })).toEqual([4, 5, 7, 8]);
  });

  test("that are not covered by a flush are passed over while it is served", () => {
    const kit = fair().push({ id: 1, tenant: "a" }, { id: 2, tenant: "a" }, { id: 3, tenant: "b" });
    kit.flush(undefined, [], () => {});
    kit.push({ id: 4, tenant: "b" }, { id: 5, tenant: "c" });
    const [lane] = [...kit.queue.lanes()];
    const plan = kit.plan({}, lane?.flushes?.upTo);
    expect(plan.entries.map(({ item }) => item)).toEqual([1, 3, 2]);
    kit.queue.take(plan.entries, otherHolder());
    expect(new Set(kit.take())).toEqual(new Set([4, 5]));
  });
});

describe("shares over time", () => {
  test("count the service of a tenant before it comes back, one item at a time", () => {
    const kit = fair();
    for (const id of range(400)) kit.push({ id, tenant: "flood" });
    let served = 0;
    for (let id = 1_000; id < 1_003; id += 1) {
      kit.push({ id, tenant: "dear", cost: 100 });
      while (kit.take({ maxBatchSize: 1 })[0] !== id) served += 1;
    }
    expect(served).toBeGreaterThanOrEqual(200);
  });

  test("serve a tenant that waits, however many others keep coming", () => {
    const kit = fair().push({ id: 0, tenant: "old" }, { id: 1, tenant: "old" }, { id: 2, tenant: "old" });
    const order: unknown[] = [];
    for (let id = 10; id < 60; id += 2) {
      kit.push({ id, tenant: `new-${id}` }, { id: id + 1, tenant: `new-${id + 1}` });
      order.push(...kit.take({ maxBatchSize: 2 }));
    }
    expect(order).toEqual(expect.arrayContaining([0, 1, 2]));
  });

  test("are the same for free items as for those of the mean cost", () => {
    const kit = fair();
    for (const id of range(8)) kit.push({ id, tenant: id < 4 ? "free" : "paid", cost: id < 4 ? 0 : 8 });
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([0, 4, 1, 5, 2, 3, 6, 7]);
  });

  test("forget tenants whose share is used up", () => {
    const kit = fair();
    for (const id of range(100)) kit.push({ id, tenant: "flood" });
    for (const id of range(5_000)) kit.push({ id: 1_000 + id, tenant: `once-${id}` }).leave(1_000 + id);
    expect(kit.takeAll({ maxBatchSize: 10 }).flat()).toEqual(range(100));
  });

  test("are those of the reference where costs are far from their mean", () => {
    const names = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 2, maxLength: 12, size: "max" });
    const of = fc.record({ small: fc.integer({ min: 1, max: 3 }), large: fc.integer({ min: 100, max: 5_000 }) });
    fc.assert(
      fc.property(of, names, fc.integer({ min: 1, max: 9 }), (drawn, list, count) => {
        const kit = fair();
        const reference = new FairReference();
        const both = (item: Served): void => {
          kit.push(item);
          reference.push(item);
        };
        for (const id of range(2_000)) {
          both({ id, tenant: "gone", cost: drawn.small });
          if (id === 0) continue;
          kit.leave(id);
          reference.leave(id);
        }
        for (const [index, tenant] of list.entries()) {
          both({ id: 5_000 + index, tenant, cost: drawn.large + index });
        }
        kit.leave(0);
        reference.leave(0);
        while (kit.queue.size > 0) expect(kit.take({ maxBatchSize: count })).toEqual(reference.take(count));
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });
});

describe("costs at the ends of the range of numbers", () => {
  test("are shared like others where they add up to Infinity", () => {
    const kit = fair();
    for (const id of [1, 2, 3, 4, 5, 6]) kit.push({ id, tenant: id < 4 ? "dear" : "free", cost: id < 4 ? 1.7e308 : 0 });
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([1, 4, 2, 5, 3, 6]);
  });

  test("keep the order of each tenant and serve all, with all of them together", () => {
    const cost = fc.constantFrom(0, 5e-324, 1e-300, 1e-12, 1, 1e16, 1e30, 1e300, 1.7e308, Number.MAX_VALUE);
    const item = fc.record({ tenant: fc.constantFrom("a", "b", "c"), cost });
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 60, size: "max" }),
        fc.integer({ min: 1, max: 5 }),
        (list, maxBatchSize) => {
          const kit = fair();
          for (const [id, of] of list.entries()) kit.push({ id, ...of });
          const order = kit.takeAll({ maxBatchSize }).flat() as number[];
          expect(order.toSorted((a, b) => a - b)).toEqual([...list.keys()]);
          for (const name of ["a", "b", "c"]) {
            const own = order.filter((id) => list[id]?.tenant === name);
            expect(own).toEqual(own.toSorted((a, b) => a - b));
          }
        },
      ),
    );
  });
});
