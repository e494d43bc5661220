/**
 * Shares the event loop among synchronous pieces of work.
 *
 * Guarantees: all pieces together take about `SLICE_MS` of each pass of the event loop, or one
 * piece if that takes longer, however many there are. Short work goes before long work, but every
 * other pass begins with a piece of long work. Pieces of the same kind run in order of arrival.
 */

/** Longest time in ms for which this work blocks the event loop in one pass. */
const SLICE_MS = 4;

type Piece = () => void;

/** Start of the work in this pass of the event loop; undefined before. */
let startedAt: number | undefined;
const short: Piece[] = [];
const long: Piece[] = [];
let longIsFirst = false;

/**
 * Runs a piece of work now, or in a later pass if this pass has used its time. Rejects with the
 * work's error. `isShort`: the caller has no other pieces.
 */
export function inSlices<Value>(work: () => Value, isShort: boolean): Promise<Value> {
  return new Promise((resolve, reject) => {
    const piece = (): void => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    };
    const waiting = isShort ? short : long;
    if (waiting.length > 0 || isOver()) waiting.push(piece);
    else piece();
  });
}

/** True if this pass has used its time. The first call in a pass starts it. */
function isOver(): boolean {
  if (startedAt !== undefined) return performance.now() - startedAt >= SLICE_MS;
  startedAt = performance.now();
  setImmediate(beginPass);
  return false;
}

function beginPass(): void {
  startedAt = undefined;
  longIsFirst = !longIsFirst;
  const first = longIsFirst ? (long.shift() ?? short.shift()) : (short.shift() ?? long.shift());
  if (first === undefined) return;
  isOver();
  first();
  while (!isOver()) {
    const next = short.shift() ?? long.shift();
    if (next === undefined) return;
    next();
  }
}
