/**
 * Shares the event loop among pieces of work, each of which runs without a stop.
 *
 * Guarantees: all work that is given here takes about `SLICE_MS` of each pass of the event loop
 * together, or one piece where that takes longer, however much of it there is at a time. Short work
 * goes before long work, but every other pass begins with a piece of long work; pieces of either go
 * in the order in which they came.
 */

/** How long other requests may be kept from the event loop. */
const SLICE_MS = 4;

type Piece = () => void;

/** When work began in this pass of the event loop; undefined before it has. */
let startedAt: number | undefined;
const short: Piece[] = [];
const long: Piece[] = [];
let longIsFirst = false;

/**
 * Runs a piece of work now, or in a later pass where this one has had its share. Rejects with what
 * the work throws. `isShort`: it is all that its caller has to do.
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

/** Whether this pass has had its share. The first who asks in a pass begins it. */
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
