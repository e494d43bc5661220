import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PackedBatch } from "../../../src/core/policy/caps.ts";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { range } from "../../support.ts";
import { FairReference, type Served } from "../support/fair-reference.ts";
import { Kit, otherHolder } from "../support/queue-kit.ts";

function fair(): Kit {
  return new Kit({ isFair: true });
}

const step = fc.oneof(
  {
    arbitrary: fc.record({
      tenant: fc.constantFrom("a", "a", "a", "b", "c", "d"),
      cost: fc.constantFrom(0, 1, 1, 2, 4, 16, 300),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6 }) }), weight: 1 },
  { arbitrary: fc.record({ leave: fc.nat(1_000) }), weight: 2 },
);

describe("tenants that share a line", () => {
  test("are served in the order of deficit round robin, whatever comes and goes in between", () => {
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

  test("get costs that differ by less than a quantum and two largest items, while they always wait", () => {
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
            expect(Math.max(...shares) - Math.min(...shares)).toBeLessThan(9 + 2 * 9);
          }
        },
      ),
    );
  });

  test("wait no longer than a round behind a flood", () => {
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

  test("have their oldest entry found, whoever's round it is", () => {
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

  test("lose their rounds when they leave in the middle of them, and the others go on", () => {
    const kit = fair();
    for (const id of range(30)) kit.push({ id, tenant: ["a", "b", "c"][id % 3] as string });
    expect(kit.take({ maxBatchSize: 4 })).toEqual([0, 1, 2, 3]);
    kit.leave(...range(30).filter((id) => id % 3 === 0));
    expect(kit.take({ maxBatchSize: 4 })).toEqual([4, 5, 7, 8]);
  });

  test("that are not covered by a flush pass their rounds on while it is served", () => {
    const kit = fair().push({ id: 1, tenant: "a" }, { id: 2, tenant: "a" }, { id: 3, tenant: "b" });
    kit.flush(undefined, [], () => {});
    kit.push({ id: 4, tenant: "b" }, { id: 5, tenant: "c" });
    const [lane] = [...kit.queue.lanes()];
    const plan = kit.plan({}, lane?.flushedUpTo);
    expect(plan.entries.map(({ item }) => item)).toEqual([1, 3, 2]);
    kit.queue.take(plan, otherHolder());
    expect(new Set(kit.take())).toEqual(new Set([4, 5]));
  });
});

/** Packs, and counts how often the cost of an entry is read meanwhile. */
function readsOf(entries: readonly Entry[], pack: () => unknown): number {
  let reads = 0;
  for (const entry of entries) {
    const { cost } = entry;
    const get = (): number => {
      reads += 1;
      if (reads > 100_000) throw new Error("It reads for ever.");
      return cost;
    };
    Object.defineProperty(entry, "cost", { get });
  }
  pack();
  return reads;
}

/** The most arguments that `Math.min` is called with meanwhile. */
function mostArguments(use: () => void): number {
  const { min } = Math;
  let most = 0;
  Math.min = (...values) => {
    most = Math.max(most, values.length);
    return min(...values);
  };
  try {
    use();
  } finally {
    Math.min = min;
  }
  return most;
}

describe("rounds in which nobody can pay", () => {
  test("are skipped where the quantum is far below what waits", () => {
    const kit = fair();
    for (const id of range(100)) kit.push({ id, tenant: id % 2 === 0 ? "a" : "b", cost: 1e30 });
    kit.push({ id: 200, tenant: "cheap", cost: 1e-12 });
    for (const id of range(40_000)) kit.push({ id: 1_000 + id, tenant: "gone", cost: 1e-12 }).leave(1_000 + id);
    let batch: PackedBatch | null = null;
    const entries = range(100).map((id) => kit.entry(id));
    const reads = readsOf(entries, () => {
      batch = kit.plan({ maxBatchSize: 5 });
    });
    expect(reads).toBeLessThan(5_000);
    const [first, ...others] = (batch as PackedBatch | null)?.entries ?? [];
    expect(first?.item).toBe(200);
    expect(others.map(({ tenant }) => tenant).toSorted()).toEqual(["a", "a", "b", "b"]);
  });

  test("are skipped without an argument for each tenant: 130,000 of them would overflow the stack", () => {
    const kit = fair();
    const tenants = 1_000;
    for (const id of range(tenants)) kit.push({ id, tenant: `t${id}`, cost: 1_000 });
    for (const id of range(8_000)) kit.push({ id: tenants + id, tenant: "gone", cost: 1 }).leave(tenants + id);
    expect(mostArguments(() => expect(kit.take({ maxBatchSize: 3 })).toEqual([0, 1, 2]))).toBeLessThan(10);
  });

  test("cost as much as they do one by one", () => {
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

describe("costs at the ends of what a number can hold", () => {
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
