// A binary min-heap whose nodes know where they lie: adding, removing and moving a node are O(log n). Equal keys leave
// in the order in which they were added.

export class HeapNode<Value> {
  readonly value: Value;
  key = 0;
  /** Decides between equal keys. */
  order = 0;
  /** Where the node lies in its heap; -1 while it is in none. */
  index = -1;

  constructor(value: Value) {
    this.value = value;
  }
}

export class Heap<Value> {
  readonly #nodes: HeapNode<Value>[] = [];
  #added = 0;

  get size(): number {
    return this.#nodes.length;
  }

  /** The node with the smallest key, or undefined. */
  get first(): HeapNode<Value> | undefined {
    return this.#nodes[0];
  }

  /** Adds a node that is in no heap. */
  add(node: HeapNode<Value>, key: number): void {
    this.#added += 1;
    node.key = key;
    node.order = this.#added;
    this.#nodes.push(node);
    this.#up(node, this.#nodes.length - 1);
  }

  /** Gives a node of this heap another key. */
  move(node: HeapNode<Value>, key: number): void {
    if (key === node.key) return;
    const isEarlier = key < node.key;
    node.key = key;
    if (isEarlier) this.#up(node, node.index);
    else this.#down(node, node.index);
  }

  /** Takes a node out; does nothing where it is in no heap. */
  remove(node: HeapNode<Value>): void {
    const { index } = node;
    if (index === -1) return;
    node.index = -1;
    const last = this.#nodes.pop() as HeapNode<Value>;
    if (last === node) return;
    this.#up(last, index);
    if (last.index === index) this.#down(last, index);
  }

  #up(node: HeapNode<Value>, start: number): void {
    const nodes = this.#nodes;
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = nodes[parent] as HeapNode<Value>;
      if (!goesBefore(node, above)) break;
      nodes[index] = above;
      above.index = index;
      index = parent;
    }
    nodes[index] = node;
    node.index = index;
  }

  #down(node: HeapNode<Value>, start: number): void {
    const nodes = this.#nodes;
    let index = start;
    for (let child = 2 * index + 1; child < nodes.length; child = 2 * index + 1) {
      const right = nodes[child + 1];
      if (right !== undefined && goesBefore(right, nodes[child] as HeapNode<Value>)) child += 1;
      const below = nodes[child] as HeapNode<Value>;
      if (!goesBefore(below, node)) break;
      nodes[index] = below;
      below.index = index;
      index = child;
    }
    nodes[index] = node;
    node.index = index;
  }
}

function goesBefore(a: HeapNode<unknown>, b: HeapNode<unknown>): boolean {
  return a.key < b.key || (a.key === b.key && a.order < b.order);
}
