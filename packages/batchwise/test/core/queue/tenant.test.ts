import fc from "fast-check";
import { expect, test } from "vitest";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { Tenant } from "../../../src/core/queue/tenant.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";

/** A tenant, and a plain array as its model. */
class Pair {
  readonly tenant: Tenant = new Tenant(null as never);
  list: Entry[] = [];

  add(at: number): void {
    const entry = entryOf({ id: 0, at });
    const place = this.list.findLastIndex(({ moment }) => moment.at <= at) + 1;
    this.list.splice(place, 0, entry);
    expect(this.tenant.add(entry)).toBe(place === 0);
  }

  remove(from: number, count: number): void {
    for (const entry of this.list.splice(from, count)) {
      this.tenant.remove(entry);
      entry.holder = null;
    }
  }

  check(): void {
    let next = this.tenant.first;
    for (const entry of this.list) {
      // `expect` for each of thousands would take most of the test's time.
      if (next !== entry) expect(next).toBe(entry);
      next = entry.facts.next;
    }
    expect(next).toBe(null);
  }
}

const step = fc.record({
  kind: fc.constantFrom("come", "raise", "raise", "leave"),
  count: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 300, max: 900 })),
  place: fc.nat(2_000),
});

test("a tenant's entries are in order of age, whatever comes, is raised and leaves", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20, size: "max" }), (steps) => {
      const pair = new Pair();
      for (const [time, { kind, count, place }] of steps.entries()) {
        if (kind === "come") for (const index of range(count)) pair.add(1_000 * time + index);
        else if (kind === "raise")
          for (const index of range(Math.min(count, 9))) pair.add((place * (index + 1)) % (1_000 * time + 1));
        else pair.remove(place % (pair.list.length + 1), count);
        pair.check();
      }
    }),
    { numRuns: 100 },
  );
});

test("thousands of raised entries among a hundred thousand pass few others", () => {
  let reads = 0;
  const counted = (at: number): Entry => {
    const entry = entryOf({ id: at, at });
    Object.defineProperty(entry.moment, "at", {
      get: () => {
        reads += 1;
        return at;
      },
    });
    return entry;
  };
  const tenant = new Tenant(null as never);
  for (const at of range(100_000)) tenant.add(counted(at));
  reads = 0;
  for (const index of range(3_000)) tenant.add(counted((index * 7_919) % 100_000));
  expect(reads / 3_000).toBeLessThan(1_500);
});
