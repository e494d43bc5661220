// A binary min-heap whose nodes know their index: adding, removing and moving a node are O(log n).
// Nodes leave by tier, then key, then tie, then order of addition.

export class HeapNode<Value> {
  value: Value;
  /** Compared before any key. */
  tier = 0;
  key = 0;
  /** Compared between equal keys. */
  tie = 0;
  /** Compared between equal ties. */
  order = 0;
  /** The node's index in its heap; -1 if it is in none. */
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

  /** One of the two children of a node of this heap. */
  below({ index }: HeapNode<unknown>, child: 1 | 2): HeapNode<Value> | undefined {
    return this.#nodes[2 * index + child];
  }

  /** Adds a node that is in no heap, or changes the key of a node of this heap. */
  put(node: HeapNode<Value>, key: number, tie = 0, tier = 0): void {
    const isNew = node.index === -1;
    if (!isNew && key === node.key && tie === node.tie && tier === node.tier) return;
    node.key = key;
    node.tie = tie;
    node.tier = tier;
    if (isNew) {
      this.#added += 1;
      node.order = this.#added;
      up(this.#nodes, node, this.#nodes.push(node) - 1);
    } else settle(this.#nodes, node, node.index);
  }

  /** Removes a node; does nothing if it is in no heap. */
  remove(node: HeapNode<Value>): void {
    const { index } = node;
    if (index === -1) return;
    node.index = -1;
    const last = this.#nodes.pop() as HeapNode<Value>;
    if (last === node) return;
    settle(this.#nodes, last, index);
  }
}

/** Functions, because private methods take eight bytes of each heap. */
function settle<Value>(nodes: HeapNode<Value>[], node: HeapNode<Value>, index: number): void {
  up(nodes, node, index);
  if (node.index === index) down(nodes, node, index);
}

function up<Value>(nodes: HeapNode<Value>[], node: HeapNode<Value>, start: number): void {
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

function down<Value>(nodes: HeapNode<Value>[], node: HeapNode<Value>, start: number): void {
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

function goesBefore(a: HeapNode<unknown>, b: HeapNode<unknown>): boolean {
  if (a.tier !== b.tier) return a.tier < b.tier;
  if (a.key !== b.key) return a.key < b.key;
  return a.tie === b.tie ? a.order < b.order : a.tie < b.tie;
}
