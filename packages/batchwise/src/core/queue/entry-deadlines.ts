// Deadlines of waiting entries, the earliest first.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";

export class EntryDeadlines {
  readonly #heap: Heap<Entry> = new Heap();
  readonly #nodes: Map<Entry, HeapNode<Entry>> = new Map();

  set(entry: Entry, dueAt: number): void {
    const known = this.#nodes.get(entry);
    if (known !== undefined) {
      this.#heap.move(known, dueAt);
    } else if (dueAt < Infinity) {
      const node = new HeapNode(entry);
      this.#nodes.set(entry, node);
      this.#heap.add(node, dueAt);
    }
  }

  /** Returns false if the entry had none. */
  remove(entry: Entry): boolean {
    const node = this.#nodes.get(entry);
    if (node === undefined) return false;
    this.#nodes.delete(entry);
    this.#heap.remove(node);
    return true;
  }

  get earliest(): number {
    return this.#heap.first?.key ?? Infinity;
  }
}
