import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Heap, HeapNode } from "../../../src/core/time/heap.ts";
import { range } from "../../support.ts";

interface Known {
  readonly node: HeapNode<number>;
  key: number;
  readonly order: number;
}

/** The nodes of the heap, in the order in which they must leave it. */
function inOrder(known: Iterable<Known>): Known[] {
  return [...known].toSorted((a, b) => a.key - b.key || a.order - b.order);
}

type Step = { readonly add: number } | { readonly remove: number } | { readonly move: number; readonly to: number };

const key = fc.oneof(fc.nat(8), fc.nat(60), fc.constantFrom(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY));
const step = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  { arbitrary: fc.record({ add: key }), weight: 4 },
  { arbitrary: fc.record({ remove: fc.nat(99) }), weight: 2 },
  { arbitrary: fc.record({ move: fc.nat(99), to: key }), weight: 1 },
);

/** Applies one step to the heap and to the list of its nodes. */
function apply(heap: Heap<number>, known: Known[], next: Step, order: number): void {
  if ("add" in next) {
    const node = new HeapNode(order);
    known.push({ node, key: next.add, order });
    heap.put(node, next.add);
    return;
  }
  const at = ("move" in next ? next.move : next.remove) % Math.max(1, known.length);
  const chosen = known[at];
  if (chosen === undefined) return;
  if ("move" in next) {
    chosen.key = next.to;
    heap.put(chosen.node, next.to);
  } else {
    known.splice(at, 1);
    heap.remove(chosen.node);
    expect(chosen.node.index).toBe(-1);
  }
}

describe("a heap", () => {
  test("is a list sorted by key and then by the order of adding, whatever is added, moved and removed", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 200, size: "max" }), (steps) => {
        const heap = new Heap<number>();
        const known: Known[] = [];
        for (const [order, next] of steps.entries()) {
          apply(heap, known, next, order);
          expect(heap.size).toBe(known.length);
          expect(heap.first).toBe(inOrder(known)[0]?.node);
        }
        for (const { node } of inOrder(known)) {
          expect(heap.first).toBe(node);
          heap.remove(node);
        }
        expect(heap.first).toBeUndefined();
      }),
      { numRuns: 80 },
    );
  });

  test("takes a node out once, and in again after that", () => {
    const heap = new Heap<string>();
    const [a, b] = [new HeapNode("a"), new HeapNode("b")];
    heap.put(a, 1);
    heap.put(b, 2);
    heap.remove(a);
    heap.remove(a);
    expect([heap.size, heap.first]).toEqual([1, b]);
    heap.put(a, 2);
    expect(heap.first).toBe(b);
  });

  test("moves a node to the key that it has without losing its place among equals", () => {
    const heap = new Heap<number>();
    const nodes = range(20).map((value) => new HeapNode(value));
    for (const node of nodes) heap.put(node, 7);
    for (const node of nodes) heap.put(node, 7);
    for (const node of nodes) {
      expect(heap.first).toBe(node);
      heap.remove(node);
    }
  });
});
