// Values that may have deadlines, the earliest first.

import { Heap, HeapNode } from "./heap.ts";

export class Earliest<Value> {
  readonly #heap: Heap<Value> = new Heap();
  readonly #nodes: Map<Value, HeapNode<Value>> = new Map();

  /** Infinity: none, or unchanged if it has one. */
  set(value: Value, dueAt: number): void {
    let node = this.#nodes.get(value);
    if (node === undefined) {
      if (dueAt === Infinity) return;
      node = new HeapNode(value);
      this.#nodes.set(value, node);
    }
    this.#heap.put(node, dueAt);
  }

  /** Returns false if the value had none. */
  remove(value: Value): boolean {
    const node = this.#nodes.get(value);
    if (node === undefined) return false;
    this.#nodes.delete(value);
    this.#heap.remove(node);
    return true;
  }

  /** The earliest deadline; Infinity if there is none. */
  get dueAt(): number {
    return this.#heap.first?.key ?? Infinity;
  }
}
