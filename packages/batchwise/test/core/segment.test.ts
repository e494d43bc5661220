import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Party } from "../../src/core/queue/recipient.ts";
import { Segment } from "../../src/core/queue/segment.ts";

function segmentOf(priority = 0): { segment: Segment; vacated: [number, number][] } {
  const vacated: [number, number][] = [];
  const owner = {
    holdsWaiting: true,
    keepsCosts: true,
    vacated: (_: Segment, index: number, cost: number) => vacated.push([index, cost]),
  };
  return { segment: new Segment(owner, priority, 0, 4), vacated };
}

const resolve = (): void => {};

function partyAt(places: number[]): Party {
  return { countsItself: true, succeed: () => {}, fail: () => {}, seat: (_, index) => places.push(index) };
}

describe("a segment", () => {
  test("has no columns that nobody needs", () => {
    const { segment } = segmentOf(2);
    segment.append("a", resolve, 10, 1);
    segment.append("b", resolve, 10, 1);
    expect(segment.costs).toBeNull();
    expect([segment.costAt(1), segment.contextAt(1), segment.priorityAt(1), segment.positionAt(1)]).toEqual([
      1,
      undefined,
      2,
      0,
    ]);
    expect(segment.dueAt(1)).toBe(Number.POSITIVE_INFINITY);
    expect([segment.live, segment.cost, segment.length]).toEqual([2, 2, 2]);
  });

  test("knows the cost of entries from before the first that differed", () => {
    const { segment } = segmentOf();
    for (const cost of [1, 1, 2.5, 1]) segment.append("item", resolve, 0, cost);
    expect([0, 1, 2, 3].map((index) => segment.costAt(index))).toEqual([1, 1, 2.5, 1]);
    expect(segment.cost).toBe(5.5);
    expect(segment.isExact).toBe(false);
  });

  test("has a position, a context and a deadline only where one was given", () => {
    const { segment } = segmentOf();
    for (let index = 0; index < 4; index += 1) segment.append(index, resolve, 0, 1);
    segment.setPosition(1, 7);
    segment.setContext(2, "context");
    segment.setDue(3, 50, 50);
    expect([0, 1, 2, 3].map((index) => segment.positionAt(index))).toEqual([0, 7, 0, 0]);
    expect([0, 1, 2, 3].map((index) => segment.contextAt(index))).toEqual([undefined, undefined, "context", undefined]);
    expect(segment.dueAt(0)).toBe(Number.POSITIVE_INFINITY);
    expect(segment.earliestDue).toBe(50);
  });

  test("tells which deadline is the earliest, also after that entry has gone", () => {
    const { segment } = segmentOf();
    for (let index = 0; index < 3; index += 1) segment.append(index, resolve, 0, 1);
    expect(segment.setDue(0, 50, 50)).toBe(true);
    expect(segment.setDue(1, 60, 60)).toBe(false);
    expect(segment.setDue(2, 40, 40)).toBe(true);
    segment.vacate(2);
    segment.measureDue();
    expect(segment.earliestDue).toBe(50);
  });

  test("tells its owner who leaves, and what that entry cost", () => {
    const { segment, vacated } = segmentOf();
    for (const cost of [1, 4, 2]) segment.append("item", resolve, 0, cost);
    segment.vacate(1);
    expect(vacated).toEqual([[1, 4]]);
    expect([segment.live, segment.cost, segment.intact]).toEqual([2, 3, false]);
  });

  test("lets an entry leave once", () => {
    const { segment, vacated } = segmentOf();
    for (const cost of [1, 4]) segment.append("item", resolve, 0, cost);
    segment.vacate(1);
    segment.vacate(1);
    expect(vacated).toEqual([[1, 4]]);
    expect(segment.live).toBe(1);
  });

  test("tells parties where they are, also after a move", () => {
    const { segment } = segmentOf();
    const places: number[] = [];
    segment.append("a", resolve, 0, 1);
    segment.append("b", partyAt(places), 0, 1);
    const { segment: moved } = segmentOf();
    moved.appendFrom(segment, 1, 2);
    expect(places).toEqual([1, 0]);
  });

  test("finds the time and the turn of every entry", () => {
    const { segment } = segmentOf();
    for (const time of [5, 5, 6, 9, 9, 9]) segment.append("item", resolve, time, 1);
    expect([0, 1, 2, 3, 4, 5].map((index) => segment.timeAt(index))).toEqual([5, 5, 6, 9, 9, 9]);
    expect([0, 1, 2, 3, 4, 5].map((index) => segment.endOfTurn(index))).toEqual([2, 2, 3, 6, 6, 6]);
  });
});

interface Drawn {
  readonly cost: number;
  readonly gapMs: number;
  readonly position: number;
  readonly context: string | undefined;
  readonly dueMs: number | undefined;
  readonly leaves: boolean;
}

const drawn = fc.record<Drawn>({
  cost: fc.constantFrom(0, 1, 1, 1, 2.5),
  gapMs: fc.constantFrom(0, 0, 3),
  position: fc.constantFrom(0, 0, 1, 9),
  context: fc.option(fc.constant("context"), { nil: undefined }),
  dueMs: fc.option(fc.nat(100), { nil: undefined }),
  leaves: fc.boolean(),
});

interface Row {
  readonly item: unknown;
  readonly cost: number;
  readonly time: number;
  readonly position: number;
  readonly context: unknown;
  readonly dueAt: number;
  readonly timeoutMs: number;
  readonly priority: number;
}

function rowsOf(segment: Segment): Row[] {
  return Array.from({ length: segment.length }, (_, index) => ({
    item: segment.items[index],
    cost: segment.costAt(index),
    time: segment.timeAt(index),
    position: segment.positionAt(index),
    context: segment.contextAt(index),
    dueAt: segment.dueAt(index),
    timeoutMs: segment.timeoutAt(index),
    priority: segment.priorityAt(index),
  }));
}

function filled(list: readonly Drawn[], priority: number, rows: Row[]): Segment {
  const { segment } = segmentOf(priority);
  let time = 0;
  for (const [index, { cost, gapMs, position, context, dueMs }] of list.entries()) {
    time += gapMs;
    segment.append(index, resolve, time, cost);
    if (position > 0) segment.setPosition(index, position);
    if (context !== undefined) segment.setContext(index, context);
    if (dueMs !== undefined) segment.setDue(index, dueMs, dueMs - 1);
    const dueAt = dueMs ?? Number.POSITIVE_INFINITY;
    rows.push({ item: index, cost, time, position, context, dueAt, timeoutMs: dueAt - 1, priority });
  }
  return segment;
}

test("moving the entries of several segments into one keeps all that belongs to each", () => {
  const lists = fc.array(fc.array(drawn, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(lists, (parts) => {
      const { segment: batch } = segmentOf(1);
      const expected: Row[] = [];
      for (const [priority, list] of parts.entries()) {
        const rows: Row[] = [];
        const source = filled(list, priority, rows);
        for (const [index, { leaves }] of list.entries()) if (leaves) source.vacate(index);
        expected.push(...rows.filter((_, index) => !(list[index] as Drawn).leaves));
        batch.appendFrom(source, 0, source.length);
      }
      expect(rowsOf(batch)).toEqual(expected);
      expect(batch.live).toBe(expected.length);
      expect(batch.cost).toBe(expected.reduce((sum, { cost }) => sum + cost, 0));
    }),
  );
});
