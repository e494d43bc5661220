/**
 * Shares the event loop among pieces of long work, which run in short slices.
 *
 * Guarantees: all work that calls these functions takes about `SLICE_MS` of each pass of the event
 * loop in total, however much of it there is. Waiting work continues in order of arrival. The
 * library's tokenising has its own slices.
 */

/** Longest time in ms for which this work blocks the event loop in one pass. */
const SLICE_MS = 6;

/** Start of the work in this pass of the event loop; undefined before. */
let startedAt: number | undefined;
const waiting: (() => void)[] = [];

/** True if the caller must await `nextSlice` before it continues. */
export function sliceIsOver(): boolean {
  if (startedAt !== undefined) return performance.now() - startedAt >= SLICE_MS;
  startedAt = performance.now();
  setImmediate(beginPass);
  return false;
}

/** Resolves when it is the caller's turn, in a later pass. */
export function nextSlice(): Promise<void> {
  sliceIsOver();
  return new Promise((resolve) => waiting.push(resolve));
}

function beginPass(): void {
  startedAt = undefined;
  const next = waiting.shift();
  if (next === undefined) return;
  // Starts the slice of this pass and schedules the next pass for the rest.
  sliceIsOver();
  next();
}
