// What the entries of a segment cost, and what all that are present cost together. Most segments have none: where it is
// missing, every entry costs 1.

export class CostColumn {
  readonly values: number[];
  /** The cost of the entries present. */
  sum: number;
  /** True while all costs are whole numbers: then `sum` is exact, whatever was added and taken away. */
  isExact = true;

  /** For a segment in which `live` of `length` entries, at 1 each, are present; room for `capacity` is made at once. */
  constructor(length: number, live: number, capacity: number) {
    this.values = new Array<number>(Math.max(length, capacity));
    if (length > 0) this.values.fill(1, 0, length);
    this.sum = live;
  }

  add(index: number, cost: number): void {
    this.values[index] = cost;
    this.sum += cost;
    if ((cost | 0) !== cost) this.isExact = false;
  }
}
