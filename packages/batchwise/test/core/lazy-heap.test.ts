import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LazyHeap } from "../../src/core/time/heap.ts";

interface Member {
  key: number;
  isGone: boolean;
  heaped: boolean;
  readonly order: number;
}

function heapOf(...keys: readonly number[]): { heap: LazyHeap<Member>; members: Member[] } {
  const heap = new LazyHeap<Member>(
    (member) => member.key,
    (member) => member.isGone,
    (member) => member.order,
  );
  const members = keys.map((key, order) => ({ key, isGone: false, heaped: false, order }));
  for (const member of members) heap.push(member);
  return { heap, members };
}

function drained(heap: LazyHeap<Member>): number[] {
  const keys: number[] = [];
  for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
    keys.push(top.key);
    heap.shift();
  }
  return keys;
}

describe("a lazy heap", () => {
  test("gives its members out in the order of their keys", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), (keys) => {
        expect(drained(heapOf(...keys).heap)).toEqual(keys.toSorted((a, b) => a - b));
      }),
    );
  });

  test("passes over those who have gone and finds those whose key has grown at their new place", () => {
    const change = fc.record({ at: fc.nat(199), growsBy: fc.nat(20), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 200 }), fc.array(change, { maxLength: 300 }), (keys, changes) => {
        const { heap, members } = heapOf(...keys);
        for (const { at, growsBy, leaves } of changes) {
          const member = members[at];
          if (member === undefined || member.isGone) continue;
          member.key += growsBy;
          member.isGone = leaves;
          if (leaves) heap.noteGone();
          const left = members.filter(({ isGone }) => !isGone).map(({ key }) => key);
          expect(heap.peek()?.key).toBe(left.length === 0 ? undefined : Math.min(...left));
        }
        const left = members.filter(({ isGone }) => !isGone).map(({ key }) => key);
        expect(drained(heap)).toEqual(left.toSorted((a, b) => a - b));
      }),
    );
  });

  test("keeps members of the same key in the order in which they came", () => {
    const { heap, members } = heapOf(...Array.from({ length: 100 }, () => 7));
    for (const member of members) {
      expect(heap.peek()).toBe(member);
      heap.shift();
    }
  });

  test("takes a member in once, and again after it was taken out", () => {
    const { heap, members } = heapOf(1, 2);
    const [first] = members as [Member, Member];
    heap.push(first);
    expect(drained(heap)).toEqual([1, 2]);
    expect(first.heaped).toBe(false);
    heap.push(first);
    expect(heap.peek()).toBe(first);
  });

  test("lets go of those who have gone once they are the majority", () => {
    const { heap, members } = heapOf(...Array.from({ length: 1_000 }, (_, index) => index));
    for (const member of members.slice(1)) {
      member.isGone = true;
      heap.noteGone();
    }
    expect(members.filter(({ heaped }) => heaped).length).toBeLessThan(100);
    expect(heap.peek()).toBe(members[0]);
  });
});
