// Doubly linked lists whose nodes hold their own links: adding and removing a node are O(1) and
// allocate nothing.

export abstract class Linked<Node> {
  previous: Node | null = null;
  next: Node | null = null;
}

/** A list. */
export interface Ends<Node> {
  first: Node | null;
  last: Node | null;
}

/** Adds a node that is in no list, after another one; null: as the first. */
export function link<Node extends Linked<Node>>(list: Ends<Node>, node: Node, previous: Node | null): void {
  const next = previous === null ? list.first : previous.next;
  join(list, previous, node);
  join(list, node, next);
}

/** A removed node that the garbage collector has yet to find keeps no others alive. */
export function unlink<Node extends Linked<Node>>(list: Ends<Node>, node: Node): void {
  join(list, node.previous, node.next);
  node.previous = null;
  node.next = null;
}

function join<Node extends Linked<Node>>(list: Ends<Node>, previous: Node | null, next: Node | null): void {
  if (previous === null) list.first = next;
  else previous.next = next;
  if (next === null) list.last = previous;
  else next.previous = previous;
}
