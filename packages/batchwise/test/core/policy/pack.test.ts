import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Caps, Full } from "../../../src/core/policy/caps.ts";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { range } from "../../support.ts";
import { goesBefore } from "../support/goes-before.ts";
import { Kit, type NewEntry, otherHolder, uncapped } from "../support/queue-kit.ts";

const costs = new Map<unknown, number>();

/** A function that measures like "sum", with a known cost per item. */
function sumOfItems(items: readonly unknown[]): number {
  return items.reduce<number>((sum, item) => sum + (costs.get(item) as number), 0);
}

const drawn = fc.record({
  cost: fc.constantFrom(0, 0.5, 1, 1, 1, 2, 3, 7),
  gapMs: fc.constantFrom(0, 0, 1, 5),
  priority: fc.oneof(fc.constantFrom(0, 0, 0, 1, 2), fc.integer({ min: 0, max: 12 })),
  isSmall: fc.boolean(),
  leaves: fc.boolean(),
});

const drawnCaps = fc.record({
  maxBatchSize: fc.integer({ min: 1, max: 9 }),
  maxBatchCost: fc.constantFrom(3, 8, 15, Number.POSITIVE_INFINITY),
  batchCost: fc.constantFrom<Caps["batchCost"]>("sum", "padded", sumOfItems, (items) => items.length ** 2),
});

function costOf(batch: readonly Entry[], { batchCost }: Caps): number {
  if (typeof batchCost === "function") return batchCost(batch.map(({ item }) => item));
  const sum = batch.reduce((total, { cost }) => total + cost, 0);
  return batchCost === "sum" ? sum : batch.length * Math.max(0, ...batch.map(({ cost }) => cost));
}

interface Naive {
  readonly items: unknown[];
  readonly cost: number;
  readonly full: Full;
}

/** The same decision, entry by entry: always the first one, until one does not fit. */
function naiveBatch(waiting: readonly Entry[], caps: Caps, agingMs: number): Naive {
  const left = [...waiting];
  const batch: Entry[] = [];
  let full: Full = null;
  while (left.length > 0 && batch.length < caps.maxBatchSize) {
    const next = left.reduce((first, entry) => (goesBefore(entry, first, agingMs) ? entry : first));
    if (batch.length > 0 && costOf([...batch, next], caps) > caps.maxBatchCost) {
      full = "cost";
      break;
    }
    batch.push(next);
    left.splice(left.indexOf(next), 1);
  }
  const cost = costOf(batch, caps);
  if (cost >= caps.maxBatchCost) full = "cost";
  if (batch.length >= caps.maxBatchSize) full = "size";
  return { items: batch.map(({ item }) => item), cost, full };
}

describe("a batch", () => {
  test("is the one that is found entry by entry, and looking for it changes nothing", () => {
    fc.assert(
      fc.property(
        fc.array(drawn, { maxLength: 60, size: "max" }),
        drawnCaps,
        fc.constantFrom(3, 10, 1e9, Infinity),
        (list, limits, priorityAgingMs) => {
          const caps = { ...uncapped, ...limits };
          const kit = new Kit({ priorityAgingMs });
          let now = 0;
          for (const [id, { gapMs, cost, priority, isSmall }] of list.entries()) {
            now += gapMs;
            costs.set(id, cost);
            kit.push({ id, at: now, cost, priority, isSmall });
          }
          let left = range(list.length).filter((id) => !(list[id]?.leaves && id % 3 === 0));
          kit.leave(...range(list.length).filter((id) => !left.includes(id)));
          while (left.length > 0) {
            const expected = naiveBatch(
              left.map((id) => kit.entry(id)),
              caps,
              priorityAgingMs,
            );
            for (let look = 0; look < 2; look += 1) {
              const { entries, cost, full } = kit.plan(caps);
              expect({ items: entries.map(({ item }) => item), cost, full }).toEqual(expected);
            }
            kit.take(caps);
            left = left.filter((id) => !expected.items.includes(id));
          }
          expect(kit.queue.size).toBe(0);
        },
      ),
      { numRuns: 400, endOnFailure: true },
    );
  });

  test("takes only the items that a flush covers, in the order of all", () => {
    const kit = new Kit();
    for (const id of range(6)) kit.push({ id, priority: id % 3 });
    kit.flush(undefined, [], () => {});
    for (const id of [6, 7, 8]) kit.push({ id, priority: id % 3 });
    const [lane] = [...kit.queue.lanes()];
    const { entries } = kit.plan({}, lane?.flushes?.upTo);
    expect(entries.map(({ item }) => item)).toEqual([2, 5, 1, 4, 0, 3]);
  });

  test("of none is empty and not full", () => {
    expect(new Kit().plan()).toMatchObject({ entries: [], cost: 0, full: null });
  });
});

describe("a table of batches", () => {
  const table: [string, readonly number[], Partial<Caps>, number[][]][] = [
    ["cuts at maxBatchSize", [1, 1, 1, 1, 1], { maxBatchSize: 2 }, [[1, 2], [3, 4], [5]]],
    ["fills up to maxBatchCost exactly", [2, 3, 5, 1], { maxBatchCost: 10 }, [[1, 2, 3], [4]]],
    ["never lets a cheaper item overtake one that does not fit", [6, 6, 1], { maxBatchCost: 10 }, [[1], [2, 3]]],
    ["sends an oversize item alone", [1, 50, 1], { maxBatchCost: 10 }, [[1], [2], [3]]],
    ["takes items that cost nothing along", [10, 0, 0, 1], { maxBatchCost: 10 }, [[1, 2, 3], [4]]],
    [
      "measures padding",
      [1, 1, 4, 1],
      { maxBatchCost: 9, batchCost: "padded" },
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["sends a padded oversize item alone", [20, 1], { maxBatchCost: 9, batchCost: "padded" }, [[1], [2]]],
    ["asks a function", [1, 1, 1, 1], { maxBatchCost: 9, batchCost: (items) => items.length ** 2 }, [[1, 2, 3], [4]]],
  ];
  test.each(table)("%s", (_name, list, caps, batches) => {
    const kit = new Kit().push(...list.map((cost, index): NewEntry => ({ id: index + 1, cost })));
    expect(kit.takeAll(caps)).toEqual(batches);
  });
});

describe("a cost function", () => {
  test("shares rounds among tenants as a sum does: an item that does not fit has not been served", () => {
    const item = fc.record({ tenant: fc.constantFrom("a", "b", "c"), cost: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 60, size: "max" }),
        fc.integer({ min: 5, max: 20 }),
        (list, maxBatchCost) => {
          const [bySum, byFunction] = [new Kit({ isFair: true }), new Kit({ isFair: true })];
          for (const [id, of] of list.entries()) {
            costs.set(id, of.cost);
            for (const kit of [bySum, byFunction]) kit.push({ id, ...of });
          }
          const batches = byFunction.takeAll({ maxBatchSize: 5, maxBatchCost, batchCost: sumOfItems });
          expect(batches).toEqual(bySum.takeAll({ maxBatchSize: 5, maxBatchCost }));
        },
      ),
      { numRuns: 200, endOnFailure: true },
    );
  });

  test.each([false, true])("that submits something urgent changes no batch that it measures (fair: %s)", (isFair) => {
    const kit = new Kit({ isFair });
    for (const id of range(6)) kit.push({ id, tenant: "a" });
    let pushed = 0;
    const batchCost = (items: readonly unknown[]): number => {
      if (pushed < 5) kit.push({ id: 100 + pushed, priority: 9, tenant: "b" });
      pushed += 1;
      return items.length;
    };
    const plan = kit.plan({ maxBatchCost: 3, batchCost });
    expect(plan.entries.map(({ item }) => item)).toEqual([0, 1, 2]);
    kit.queue.take(plan.entries, otherHolder());
    expect(kit.takeAll().flat()).toEqual([...range(Math.min(pushed, 5)).map((id) => 100 + id), 3, 4, 5]);
    expect(pushed).toBeGreaterThan(2);
  });

  test("that submits for another tenant charges the one that is served, and not that one", () => {
    const kit = new Kit({ isFair: true });
    for (const id of range(6)) kit.push({ id, tenant: "a" });
    const batchCost = (items: readonly unknown[]): number => {
      if (kit.queue.size === 6) for (const id of [100, 101, 102]) kit.push({ id, tenant: "b" });
      return items.length;
    };
    expect(kit.take({ maxBatchCost: 3, batchCost })).toEqual([0, 1, 2]);
    expect(kit.takeAll({ maxBatchSize: 1 }).flat()).toEqual([100, 101, 102, 3, 4, 5]);
  });

  test.each([() => Number.NaN, () => "9" as never])(
    "that returns no number lets each item go alone, %#",
    (batchCost) => {
      const kit = new Kit().push({ id: 1, cost: 2 }, { id: 2, cost: 3 });
      expect(kit.plan({ batchCost })).toMatchObject({ cost: 5, full: null });
      expect(kit.plan({ batchCost, maxBatchCost: 9 })).toMatchObject({ cost: 2, full: "cost" });
      expect(kit.takeAll({ batchCost, maxBatchCost: 9 })).toEqual([[1], [2]]);
    },
  );
});

test.each([Number.POSITIVE_INFINITY, 10])(
  "each priority has rounds of its own, with aging by %d ms",
  (priorityAgingMs) => {
    const kit = new Kit({ isFair: true, priorityAgingMs });
    for (const id of range(12)) kit.push({ id, at: id % 3, priority: id % 2, tenant: id < 6 ? "a" : "b" });
    const order = kit.takeAll({ maxBatchSize: 1 }).flat() as number[];
    for (const priority of [0, 1]) {
      const tenants = order.filter((id) => id % 2 === priority).map((id) => (id < 6 ? "a" : "b"));
      expect(tenants).toEqual(["a", "b", "a", "b", "a", "b"]);
    }
  },
);

test("thousands of priorities cost no more than their sorting", () => {
  for (const priorityAgingMs of [Number.POSITIVE_INFINITY, 50]) {
    const kit = new Kit({ priorityAgingMs });
    let reads = 0;
    for (const id of range(4_000)) {
      kit.push({ id, priority: (id * 7) % 4_000, at: id % 2 });
      const { moment } = kit.entry(id);
      const get = (): typeof moment => {
        reads += 1;
        return moment;
      };
      Object.defineProperty(kit.entry(id), "moment", { get });
    }
    reads = 0;
    kit.takeAll({ maxBatchSize: 1_000 });
    expect(reads).toBeLessThan(4_000 * 100);
  }
});
