// Times of an encoder with MiniLM's dimensions (6 layers, 384 wide) by rows and tokens, measured
// with onnxruntime on one thread of a server. Between the measured sizes: linear in the logarithms.

const TOKENS = [8, 16, 32, 64, 128, 256];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128];
const MEDIAN_MS: readonly (readonly number[])[] = [
  [2.5, 3.26, 4.92, 7.64, 14, 25, 50, 103],
  [3.01, 4.81, 7.64, 14, 25, 51, 106, 212],
  [5.13, 7.8, 14, 25, 52, 111, 226, 477],
  [7.98, 15, 27, 54, 112, 232, 498, 1126],
  [15, 28, 56, 116, 246, 545, 1166, 2542],
  [30, 64, 134, 288, 618, 1330, 2912, 5513],
];

export function miniLmMs(rows: number, tokens: number): number {
  const [row, rowShare] = placeOf(ROWS, rows);
  const [token, tokenShare] = placeOf(TOKENS, tokens);
  const at = (tokenStep: number, rowStep: number): number =>
    Math.log(MEDIAN_MS[token + tokenStep]?.[row + rowStep] as number);
  const shorter = (1 - rowShare) * at(0, 0) + rowShare * at(0, 1);
  const longer = (1 - rowShare) * at(1, 0) + rowShare * at(1, 1);
  return Math.exp((1 - tokenShare) * shorter + tokenShare * longer);
}

/**
 * The measured size at or below a value, and the position between it and the next one. Beyond the
 * last size its line continues.
 */
function placeOf(sizes: readonly number[], value: number): [index: number, share: number] {
  const above = sizes.findIndex((size) => size > value);
  const index = above === -1 ? sizes.length - 2 : Math.max(0, above - 1);
  const [low, high] = [sizes[index] as number, sizes[index + 1] as number];
  return [index, Math.log(value / low) / Math.log(high / low)];
}
