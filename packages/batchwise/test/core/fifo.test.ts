import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FifoCursor } from "../../src/core/queue/cursor.ts";
import { Fifo, type SegmentShape } from "../../src/core/queue/fifo.ts";
import type { Party } from "../../src/core/queue/recipient.ts";
import { Segment } from "../../src/core/queue/segment.ts";

/** A waiting item that knows where it is, and can leave. */
class Guest implements Party {
  readonly countsItself = true;
  readonly id: number;
  segment: Segment | null = null;
  index = 0;

  constructor(id: number) {
    this.id = id;
  }

  seat(segment: Segment, index: number): void {
    this.segment = segment;
    this.index = index;
  }

  succeed(): void {}
  fail(): void {}
}

function fifoOf(shape: Partial<SegmentShape> = {}): { fifo: Fifo; shape: SegmentShape; removed: number[] } {
  const removed: number[] = [];
  const full = { maxItems: 3, maxCost: Number.POSITIVE_INFINITY, epoch: 0, ...shape };
  const fifo = new Fifo({ removed: (_segment, count) => removed.push(count) }, full, 0);
  return { fifo, shape: full, removed };
}

function push(fifo: Fifo, ...ids: readonly number[]): Guest[] {
  return ids.map((id) => {
    const guest = new Guest(id);
    fifo.push(id, guest, id, 1);
    return guest;
  });
}

/** The items in the order in which a cursor reads them. */
function read(fifo: Fifo): unknown[] {
  const items: unknown[] = [];
  const cursor = new FifoCursor(fifo);
  while (cursor.segment !== null) {
    items.push(cursor.segment.items[cursor.index]);
    cursor.advanceTo(cursor.index + 1);
  }
  return items;
}

function lengths(fifo: Fifo): number[] {
  return [...fifo.segments()].map(({ length }) => length);
}

describe("a fifo", () => {
  test("keeps the order of arrival across segments of maxItems", () => {
    const { fifo } = fifoOf();
    push(fifo, 1, 2, 3, 4, 5, 6, 7);
    expect(read(fifo)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(lengths(fifo)).toEqual([3, 3, 1]);
    expect(fifo.size).toBe(7);
    expect(fifo.oldestAt()).toBe(1);
  });

  test("cuts segments where their cost would pass maxCost, and where a flush was", () => {
    const { fifo, shape } = fifoOf({ maxItems: 10, maxCost: 5 });
    for (const cost of [2, 3, 1, 9, 1]) fifo.push("item", new Guest(cost), 0, cost);
    expect(lengths(fifo)).toEqual([2, 1, 1, 1]);
    expect(fifo.cost).toBe(16);
    shape.epoch += 1;
    fifo.push("item", new Guest(1), 0, 1);
    expect(lengths(fifo)).toEqual([2, 1, 1, 1, 1]);
  });

  test("drops a segment when its last entry leaves, wherever it is", () => {
    const { fifo } = fifoOf();
    const guests = push(fifo, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    for (const { id, segment, index } of guests) if (id >= 4 && id <= 6) segment?.vacate(index);
    expect(read(fifo)).toEqual([1, 2, 3, 7, 8, 9]);
    expect(lengths(fifo)).toEqual([3, 3]);
    for (const { id, segment, index } of guests) if (id > 6) segment?.vacate(index);
    expect(lengths(fifo)).toEqual([3]);
    push(fifo, 10);
    expect(read(fifo)).toEqual([1, 2, 3, 10]);
  });

  test("forgets the item of an entry that leaves", () => {
    const { fifo } = fifoOf();
    const [guest] = push(fifo, 1, 2) as [Guest];
    guest.segment?.vacate(guest.index);
    expect(fifo.first?.items[guest.index]).toBeUndefined();
  });

  test("forgets the entries that it gives away while others of their segment stay", () => {
    const { fifo } = fifoOf();
    push(fifo, 1, 2, 3);
    const segment = fifo.first as Segment;
    expect(take(fifo, 2)).toEqual([1, 2]);
    expect(segment.items).toEqual([undefined, undefined, 3]);
    expect(segment.sinks.slice(0, 2)).toEqual([null, null]);
  });

  test("gives a whole segment away without touching it", () => {
    const { fifo, removed } = fifoOf();
    push(fifo, 1, 2, 3, 4);
    const first = fifo.first as Segment;
    fifo.detach(first);
    expect(first.items.slice(0, first.length)).toEqual([1, 2, 3]);
    expect(read(fifo)).toEqual([4]);
    expect(removed).toEqual([3]);
  });

  test("is empty again after everything has left", () => {
    const { fifo } = fifoOf();
    for (const { segment, index } of push(fifo, 1, 2, 3, 4)) segment?.vacate(index);
    expect(fifo.size).toBe(0);
    expect(fifo.cost).toBe(0);
    expect(fifo.first).toBeNull();
    expect(fifo.oldestAt()).toBe(Number.POSITIVE_INFINITY);
  });
});

type Step = { readonly push: number } | { readonly leave: number } | { readonly take: number };

const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.record({ push: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ leave: fc.nat(200) }),
  fc.record({ take: fc.integer({ min: 1, max: 3 }) }),
);

/** Takes up to `count` entries from the front segment, as packing does. */
function take(fifo: Fifo, count: number): unknown[] {
  const batch = new Segment({ holdsWaiting: false, keepsCosts: true, vacated: () => {} }, 0, 0, count);
  const segment = fifo.first;
  if (segment === null) return [];
  const cursor = new FifoCursor(fifo);
  const from = segment.head;
  let end = from;
  let taken = 0;
  let cost = 0;
  for (; taken < count && cursor.segment === segment; taken += 1) {
    cost += segment.costAt(cursor.index);
    end = cursor.index + 1;
    cursor.advanceTo(end);
  }
  fifo.take({ segment, from, end, count: taken, cost }, batch);
  return batch.items.slice(0, batch.length);
}

test("a fifo is a list, whatever is pushed, taken and removed from the middle", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 5 }), (steps, maxItems) => {
      const { fifo } = fifoOf({ maxItems });
      let model: Guest[] = [];
      let pushed = 0;
      for (const next of steps) {
        if ("push" in next) {
          const ids = Array.from({ length: next.push }, (_, index) => pushed + index);
          pushed += next.push;
          model.push(...push(fifo, ...ids));
        } else if ("leave" in next) {
          const guest = model[next.leave % Math.max(1, model.length)];
          guest?.segment?.vacate(guest.index);
          model = model.filter((other) => other !== guest);
        } else {
          const taken = take(fifo, next.take);
          expect(taken).toEqual(model.slice(0, taken.length).map(({ id }) => id));
          expect(model.length === 0 || taken.length > 0).toBe(true);
          model = model.slice(taken.length);
        }
        expect(read(fifo)).toEqual(model.map(({ id }) => id));
        expect(fifo.size).toBe(model.length);
        expect(fifo.cost).toBe(model.length);
        expect(fifo.oldestAt()).toBe(model[0]?.id ?? Number.POSITIVE_INFINITY);
      }
    }),
    { numRuns: 200 },
  );
});
