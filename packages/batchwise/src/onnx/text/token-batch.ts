/**
 * Several token lists as one padded block, the form in which a model takes them.
 *
 * Guarantees: row i holds list i, then padding up to the length of the longest list. The mask is 1
 * on tokens and 0 on padding.
 */

export interface TokenBatch {
  readonly rows: number;
  /** Length of the longest list. */
  readonly columns: number;
  /** rows x columns token ids. */
  readonly ids: BigInt64Array<ArrayBuffer>;
  /** rows x columns, 1 for a token and 0 for padding. */
  readonly mask: BigInt64Array<ArrayBuffer>;
}

/** Several vectors as one block: row i is `data[i * width .. (i + 1) * width]`. */
export interface VectorBlock {
  readonly rows: number;
  readonly width: number;
  readonly data: Float32Array<ArrayBuffer>;
  /** Rows with a number that is not finite, in ascending order. */
  readonly notFinite: readonly number[];
  /** Rows of zeros, which cannot be scaled to length 1, in ascending order. */
  readonly zeros: readonly number[];
  /** Where the vectors of tokens became one: in the model's graph, or in its readout here. */
  readonly pooledBy: "graph" | "readout";
}

export function padTokens(lists: readonly ArrayLike<number>[], paddingId: number): TokenBatch {
  let columns = 0;
  for (const list of lists) columns = Math.max(columns, list.length);
  const rows = lists.length;
  const ids = new BigInt64Array(rows * columns).fill(BigInt(paddingId));
  const mask = new BigInt64Array(rows * columns);
  let start = 0;
  for (const list of lists) {
    for (let column = 0; column < list.length; column += 1) ids[start + column] = BigInt(list[column] ?? paddingId);
    mask.fill(1n, start, start + list.length);
    start += columns;
  }
  return { rows, columns, ids, mask };
}

/**
 * One vector per row, each in its own memory, so that keeping one does not keep the whole batch.
 */
export function splitRows(block: Pick<VectorBlock, "rows" | "width" | "data">): Float32Array<ArrayBuffer>[] {
  const vectors: Float32Array<ArrayBuffer>[] = [];
  for (let row = 0; row < block.rows; row += 1) {
    vectors.push(block.data.slice(row * block.width, (row + 1) * block.width));
  }
  return vectors;
}
