/**
 * Shares the event loop among pieces of long work, which run in short slices.
 *
 * Guarantees: all work that asks here takes about `SLICE_MS` of each pass of the event loop
 * together, however much of it there is at a time; what waits goes on in the order in which it
 * came. Tokenising, inside the library, has slices of its own.
 */

/** How long other requests may be kept from the event loop. */
const SLICE_MS = 6;

/** When work began in this pass of the event loop; undefined before it has. */
let startedAt: number | undefined;
const waiting: (() => void)[] = [];

/** True when whoever asks should wait for `nextSlice` before it goes on. */
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
  // It begins the pass, and there is another for those who still wait.
  sliceIsOver();
  next();
}
