import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { Fifo } from "../../../src/core/queue/fifo.ts";
import { range } from "../../support.ts";
import { entryOf, itemsOf, otherHolder } from "../support/queue-kit.ts";

/** A fifo, and a plain list as its model. */
class Pair {
  readonly holder = otherHolder();
  readonly fifo: Fifo = new Fifo(this.holder);
  list: Entry[] = [];
  #pushed = 0;

  /** Inserts an entry after all entries at least as old. */
  push(at: number, sequence = 0): Entry {
    const entry = entryOf({ id: this.#pushed, at, sequence });
    this.#pushed += 1;
    entry.holder = this.holder;
    this.fifo.push(entry);
    this.list.splice(this.list.findLastIndex(({ moment }) => moment.at <= at) + 1, 0, entry);
    return entry;
  }

  /** Removes entries, together or one by one. */
  remove(entries: readonly Entry[], isTogether: boolean): void {
    if (isTogether) {
      for (const entry of entries) entry.holder = null;
      this.fifo.left(entries, 0, entries.length);
    } else {
      for (const [index, entry] of entries.entries()) {
        entry.holder = null;
        this.fifo.left(entries, index, index + 1);
      }
    }
    const gone = new Set(entries);
    this.list = this.list.filter((entry) => !gone.has(entry));
  }

  check(): void {
    expect(this.fifo.size).toBe(this.list.length);
    expect(this.fifo.oldest).toBe(this.list[0] ?? null);
    for (const lastSequence of [Number.POSITIVE_INFINITY, 1]) {
      const seen = this.list.filter(({ moment }) => moment.sequence <= lastSequence).map(({ item }) => item);
      expect(itemsOf(this.fifo.reader(lastSequence))).toEqual(seen);
    }
  }
}

interface Step {
  readonly kind: "push" | "insert" | "take" | "leave";
  readonly count: number;
  readonly place: number;
  readonly isTogether: boolean;
}

const step = fc.record<Step>({
  kind: fc.constantFrom("push", "push", "insert", "take", "leave"),
  count: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 100, max: 600 })),
  place: fc.nat(1_000),
  isTogether: fc.boolean(),
});

function apply(pair: Pair, { kind, count, place, isTogether }: Step, time: number): void {
  const { list } = pair;
  if (kind === "push") {
    for (const index of range(count)) pair.push(time, index % 3);
  } else if (kind === "insert") {
    for (const _index of range(Math.min(count, 5))) pair.push(place % (time + 1));
  } else if (kind === "take") {
    pair.remove(list.slice(0, count), isTogether);
  } else {
    const from = place % Math.max(1, list.length);
    pair.remove(list.slice(from, from + count), isTogether);
  }
}

describe("a fifo", () => {
  test("is a list by age, whatever is pushed, put in by age, taken from the front and removed from the middle", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
        const pair = new Pair();
        for (const [time, next] of steps.entries()) {
          apply(pair, next, time);
          pair.check();
        }
        pair.remove(pair.list, true);
        pair.check();
        pair.push(0);
        pair.check();
      }),
      { numRuns: 50 },
    );
  });

  test("reading changes nothing, and a reader that has begun sees what is pushed behind it", () => {
    const pair = new Pair();
    for (const at of range(3)) pair.push(at);
    const reader = pair.fifo.reader(Number.POSITIVE_INFINITY);
    for (const _index of range(3)) reader.advance(1);
    expect(reader.entry).toBeNull();
    reader.advance(0);
    const late = pair.push(3);
    reader.advance(0);
    expect(reader.entry).toBe(late);
    pair.check();
  });

  test.each([
    ["left early", 1],
    ["were taken from the front", 0],
  ])("forgets those who %s: they are not more than those who wait, and a few", (_how, from) => {
    const pair = new Pair();
    const all = range(10_000).map((at) => pair.push(at));
    pair.remove(all.slice(from, -1), false);
    expect(goneIn(pair.fifo, all.slice(from, -1))).toBeLessThan(200);
    pair.check();
  });
});

/** How many of these dead entries a reader still skips. */
function goneIn(fifo: Fifo, gone: readonly Entry[]): number {
  const met = new Set<Entry>();
  for (const entry of gone) {
    const get = (): null => {
      met.add(entry);
      return null;
    };
    Object.defineProperty(entry, "holder", { get });
  }
  itemsOf(fifo.reader(Number.POSITIVE_INFINITY));
  return met.size;
}
