import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Chunk, LONGEST_CHUNK } from "../../../src/core/queue/chunk.ts";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { type Lane, Line } from "../../../src/core/queue/lane.ts";
import { leadOf } from "../../../src/core/queue/rank.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";

function lineWith(chunkLength: number): Line {
  const lane = { owner: { byRank: null, chunkLength } } as unknown as Lane;
  return new Line(lane, { priority: 0, isSmall: false }, leadOf(0, false, 1));
}

function itemsOf(line: Line, most: number, upTo: number): unknown[] {
  const reader = line.reader(upTo);
  const items: unknown[] = [];
  for (let next = reader.read(); next !== undefined && items.length < most; next = reader.read()) items.push(next.item);
  return items;
}

/** A line, and a plain array as its model. */
class Pair {
  readonly line: Line;
  list: Entry[] = [];
  #pushed = 0;

  constructor(chunkLength: number = LONGEST_CHUNK) {
    this.line = lineWith(chunkLength);
  }

  /** Inserts an entry after all entries at least as old. */
  push(at: number, sequence = 0): Entry {
    const entry = entryOf({ id: this.#pushed, at, sequence });
    this.#pushed += 1;
    this.line.add(entry);
    this.list.splice(this.list.findLastIndex(({ moment }) => moment.at <= at) + 1, 0, entry);
    return entry;
  }

  /** Removes entries, together or one by one. */
  remove(entries: readonly Entry[], isTogether: boolean): void {
    if (isTogether) this.line.remove(entries, 0, entries.length);
    else for (const index of entries.keys()) this.line.remove(entries, index, index + 1);
    const gone = new Set(entries);
    this.list = this.list.filter((entry) => !gone.has(entry));
  }

  check(): void {
    expect(this.line.oldest).toBe(this.list[0] ?? null);
    for (const upTo of [Number.POSITIVE_INFINITY, 1]) {
      const seen = this.list.filter(({ moment }) => moment.sequence <= upTo).map(({ item }) => item);
      for (const most of [0, 1, 300, Number.POSITIVE_INFINITY]) {
        expect(itemsOf(this.line, most, upTo)).toEqual(seen.slice(0, most));
      }
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

describe("a line", () => {
  test("is a list by age, whatever is pushed, put in by age, taken from the front and removed from the middle", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40, size: "max" }),
        fc.constantFrom(1, 32, LONGEST_CHUNK),
        (steps, length) => {
          const pair = new Pair(length);
          for (const [time, next] of steps.entries()) {
            apply(pair, next, time);
            pair.check();
          }
          pair.remove(pair.list, true);
          pair.check();
          pair.push(0);
          pair.check();
        },
      ),
      { numRuns: 50 },
    );
  });

  test("fills the youngest chunk with the entries of a call", () => {
    const entries = lineWith(8);
    const all = range(18).map((id) => entryOf({ id, at: id }));
    for (const [from, end] of [
      [0, 5],
      [5, 6],
      [6, 18],
    ])
      entries.addAll(all.slice(from, end));
    const chunks = new Set(all.map(({ holder }) => holder as Chunk));
    const held = [...chunks].map((chunk) => chunk.entries.map(({ item }) => item));
    expect(held).toEqual([range(8), range(8).map((id) => 8 + id), [16, 17]]);
  });

  test("joins short chunks where older entries are inserted, so that no later insert passes them all", () => {
    const pair = new Pair(1);
    for (const at of range(10_000)) pair.push(2 * at);
    pair.push(19_997);
    pair.check();
    expect(new Set(pair.list.map(({ holder }) => holder)).size).toBeLessThan(200);
  });

  test.each([
    ["left early", 1],
    ["were taken from the front", 0],
  ])("keeps nothing of entries that %s", (_how, from) => {
    const pair = new Pair();
    const all = range(10_000).map((at) => pair.push(at));
    pair.remove(all.slice(from, -1), false);
    const chunks = new Set(pair.list.map(({ holder }) => holder as Chunk));
    expect([...chunks].flatMap(({ entries }) => entries)).toEqual(pair.list);
    pair.check();
  });
});
