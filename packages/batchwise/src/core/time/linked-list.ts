// A doubly linked list whose nodes hold their own links: adding and removing a node are O(1) and
// allocate nothing.

export abstract class Linked<Node> {
  previous: Node | null = null;
  next: Node | null = null;
}

export class LinkedList<Node extends Linked<Node>> {
  first: Node | null = null;
  last: Node | null = null;

  /** Adds a node that is in no list, after another one; null: as the first. */
  link(node: Node, previous: Node | null): void {
    const next = previous === null ? this.first : previous.next;
    this.#join(previous, node);
    this.#join(node, next);
  }

  /** A removed node that the garbage collector has yet to find keeps no others alive. */
  unlink(node: Node): void {
    this.#join(node.previous, node.next);
    node.previous = null;
    node.next = null;
  }

  #join(previous: Node | null, next: Node | null): void {
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
  }
}
