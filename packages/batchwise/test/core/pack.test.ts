import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { longestFit } from "../../src/core/policy/batch-cost.ts";
import type { Caps } from "../../src/core/policy/packer.ts";
import { effectivePriority } from "../../src/core/queue/order.ts";
import { Kit, type NewEntry, uncapped } from "./queue-kit.ts";

function costs(...list: readonly number[]): NewEntry[] {
  return list.map((cost, index) => ({ id: index + 1, cost }));
}

describe("pack by size and cost", () => {
  const table: [string, readonly number[], Partial<Caps>, number[][]][] = [
    ["cuts at maxBatchSize", [1, 1, 1, 1, 1], { maxBatchSize: 2 }, [[1, 2], [3, 4], [5]]],
    ["fills up to maxBatchCost exactly", [2, 3, 5, 1], { maxBatchCost: 10 }, [[1, 2, 3], [4]]],
    ["never lets a cheaper item overtake one that does not fit", [6, 6, 1], { maxBatchCost: 10 }, [[1], [2, 3]]],
    ["sends an oversize item alone", [1, 50, 1], { maxBatchCost: 10 }, [[1], [2], [3]]],
    ["takes items that cost nothing along", [10, 0, 0, 1], { maxBatchCost: 10 }, [[1, 2, 3], [4]]],
    [
      "measures padded batches by their largest",
      [1, 1, 4, 1],
      { maxBatchCost: 9, batchCost: "padded" },
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["sends a padded oversize item alone", [20, 1], { maxBatchCost: 9, batchCost: "padded" }, [[1], [2]]],
    [
      "asks a cost function about prefixes",
      [1, 1, 1, 1],
      { maxBatchCost: 9, batchCost: (items) => items.length ** 2 },
      [[1, 2, 3], [4]],
    ],
  ];

  test.each(table)("%s", (_name, list, caps, batches) => {
    const kit = new Kit({ segmentItems: 3, segmentCost: caps.maxBatchCost ?? Number.POSITIVE_INFINITY });
    expect(kit.push(...costs(...list)).takeAll(caps)).toEqual(batches);
  });

  test("tells the cost and which cap closed the batch", () => {
    const kit = new Kit().push(...costs(3, 4, 5));
    expect(kit.pick()).toMatchObject({ count: 3, cost: 12, full: null });
    expect(kit.pick({ maxBatchSize: 2 })).toMatchObject({ count: 2, cost: 7, full: "size" });
    expect(kit.pick({ maxBatchCost: 8 })).toMatchObject({ count: 2, cost: 7, full: "cost" });
    expect(kit.pick({ maxBatchCost: 12 })).toMatchObject({ count: 3, cost: 12, full: "cost" });
    expect(kit.pick({ batchCost: "padded" })).toMatchObject({ count: 3, cost: 15, full: null });
    expect(kit.pick({ batchCost: (items) => items.length * 100 })).toMatchObject({ count: 3, cost: 300, full: null });
  });

  test("changes nothing by looking", () => {
    const kit = new Kit().push(...costs(1, 2, 3));
    for (let look = 0; look < 3; look += 1) expect(kit.pick({ maxBatchCost: 3 }).count).toBe(2);
    expect(kit.takeAll({ maxBatchCost: 3 })).toEqual([[1, 2], [3]]);
  });

  test("passes over those who have left", () => {
    const kit = new Kit({ segmentItems: 3 }).push(...costs(1, 1, 1, 1, 1, 1)).leave(1, 3, 5);
    expect(kit.takeAll({ maxBatchSize: 2 })).toEqual([[2, 4], [6]]);
  });
});

describe("pack under a cost function", () => {
  test("a function that throws or returns no number fits nothing but single items", () => {
    const thrower = (): number => {
      throw new Error("no measure");
    };
    expect(new Kit().push(...costs(1, 1)).takeAll({ maxBatchCost: 9, batchCost: thrower })).toEqual([[1], [2]]);
    const rubbish = (): number => "2" as unknown as number;
    expect(new Kit().push(...costs(1, 1)).takeAll({ maxBatchCost: 9, batchCost: rubbish })).toEqual([[1], [2]]);
  });

  test("a batch that cannot be measured is said to cost the sum of its items", () => {
    const kit = new Kit().push(...costs(2, 3));
    expect(kit.pick({ batchCost: () => Number.NaN })).toMatchObject({ count: 2, cost: 5, full: null });
  });

  test.each([100, 1_000, 10_000])("the function sees O(n log n) of %i items", (size) => {
    let seen = 0;
    const cap = Math.floor(size * 0.7);
    const fit = longestFit(Array.from({ length: size }), cap, (prefix) => {
      seen += prefix.length;
      return prefix.length;
    });
    expect(fit).toEqual({ count: cap, cost: cap });
    expect(seen).toBeLessThanOrEqual(2 * size * Math.log2(size));
  });

  test("finds the longest prefix that fits, at least one item", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 60 }), fc.nat(60), (list, cap) => {
        const total = (prefix: readonly number[]): number => prefix.reduce((sum, cost) => sum + cost, 0);
        let longest = 1;
        while (longest < list.length && total(list.slice(0, longest + 1)) <= cap) longest += 1;
        expect(longestFit(list, cap, total).count).toBe(longest);
      }),
    );
  });
});

describe("pack by priority", () => {
  test("takes the highest priority first, and among equals the oldest", () => {
    const kit = new Kit().push(
      { id: 1, priority: 0, at: 1 },
      { id: 2, priority: 5, at: 2 },
      { id: 3, priority: 0, at: 3 },
      { id: 4, priority: 5, at: 4 },
    );
    expect(kit.takeAll({ maxBatchSize: 3 }, 10)).toEqual([[2, 4, 1], [3]]);
  });

  test("waiting priorityAgingMs raises an item by one", () => {
    expect(effectivePriority(2, 99, 100)).toBe(2);
    expect(effectivePriority(2, 100, 100)).toBe(3);
    expect(effectivePriority(-1, 350, 100)).toBe(2);
    const kit = new Kit().push({ id: 1, priority: 0, at: 0 }, { id: 2, priority: 1, at: 150 });
    expect(kit.take({ maxBatchSize: 1, priorityAgingMs: 200 }, 199)).toEqual([2]);
    kit.push({ id: 3, priority: 1, at: 150 });
    expect(kit.take({ maxBatchSize: 1, priorityAgingMs: 200 }, 200)).toEqual([1]);
  });

  test("takes small calls before larger ones of the same priority only", () => {
    const kit = new Kit().push(
      { id: 1, small: false, at: 1 },
      { id: 2, small: true, at: 2 },
      { id: 3, small: false, priority: 1, at: 3 },
    );
    expect(kit.takeAll({ maxBatchSize: 1 }, 5)).toEqual([[3], [2], [1]]);
  });
});

interface Drawn {
  readonly cost: number;
  readonly priority: number;
  readonly small: boolean;
  readonly gapMs: number;
  readonly leaves: boolean;
}

const drawn = fc.record<Drawn>({
  cost: fc.constantFrom(0, 0.5, 1, 1, 1, 2, 3, 7),
  priority: fc.constantFrom(0, 0, 0, 1, 2),
  small: fc.boolean(),
  gapMs: fc.constantFrom(0, 0, 1, 5),
  leaves: fc.boolean(),
});

const drawnCaps = fc.record({
  maxBatchSize: fc.integer({ min: 1, max: 9 }),
  maxBatchCost: fc.constantFrom(3, 8, 15, Number.POSITIVE_INFINITY),
  batchCost: fc.constantFrom<Caps["batchCost"]>("sum", "padded", (ids) => ids.length * 2),
  priorityAgingMs: fc.constantFrom(3, 10, Number.POSITIVE_INFINITY),
});

type Waiting = Required<Pick<NewEntry, "id" | "cost" | "at" | "priority" | "small">>;

/** The same decision entry by entry: the best head of all lines, until one does not fit. */
function naiveBatch(waiting: Waiting[], caps: Caps, now: number): number[] {
  const batch: Waiting[] = [];
  for (;;) {
    const next = best(waiting, caps, now);
    if (next === undefined || batch.length === caps.maxBatchSize) break;
    if (batch.length > 0 && costOf([...batch, next], caps) > caps.maxBatchCost) break;
    batch.push(next);
    waiting.splice(waiting.indexOf(next), 1);
  }
  return batch.map(({ id }) => id);
}

function costOf(batch: readonly Waiting[], { batchCost }: Caps): number {
  const list = batch.map(({ cost }) => cost);
  if (typeof batchCost === "function") return batchCost(list);
  return batchCost === "sum" ? list.reduce((sum, cost) => sum + cost, 0) : list.length * Math.max(...list);
}

function best(waiting: readonly Waiting[], { priorityAgingMs }: Caps, now: number): Waiting | undefined {
  const heads = new Map<string, Waiting>();
  for (const entry of waiting) {
    const line = `${entry.priority}/${entry.small}`;
    if (!heads.has(line)) heads.set(line, entry);
  }
  const ranks = (entry: Waiting): number[] => [
    effectivePriority(entry.priority, now - entry.at, priorityAgingMs),
    -entry.at,
    entry.priority,
  ];
  let first: Waiting | undefined;
  for (const entry of heads.values()) if (first === undefined || isBefore(entry, first, ranks)) first = entry;
  return first;
}

function isBefore(a: Waiting, b: Waiting, ranks: (entry: Waiting) => number[]): boolean {
  const [left, right] = [ranks(a), ranks(b)];
  if (left[0] !== right[0]) return (left[0] as number) > (right[0] as number);
  if (a.priority === b.priority && a.small !== b.small) return a.small;
  const at = left.findIndex((rank, index) => rank !== right[index]);
  return at !== -1 && (left[at] as number) > (right[at] as number);
}

test("taking whole segments gives the same batches as taking entry by entry", () => {
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 60 }), drawnCaps, fc.boolean(), (list, limits, useSmall) => {
      const caps = { ...uncapped, ...limits };
      const kit = new Kit({ segmentItems: caps.maxBatchSize, segmentCost: caps.maxBatchCost });
      const waiting: Waiting[] = [];
      let at = 0;
      for (const [index, { cost, priority, small, gapMs }] of list.entries()) {
        at += gapMs;
        const entry = { id: index, cost, priority, small: small && useSmall, at };
        waiting.push(entry);
        kit.push(entry);
      }
      const gone = list.flatMap(({ leaves }, index) => (leaves && index % 3 === 0 ? [index] : []));
      kit.leave(...gone);
      const left = waiting.filter(({ id }) => !gone.includes(id));
      for (let now = at; left.length > 0; now += 2) expect(kit.take(caps, now)).toEqual(naiveBatch(left, caps, now));
      expect(kit.queue.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});
