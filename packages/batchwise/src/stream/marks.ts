// The two values besides chunks that a streaming handler may put in a caller's place. Registered
// symbols, so that they work across two copies of the package.

/** In a caller's place: its stream has ended. */
export const DONE: unique symbol = Symbol.for("batchwise.DONE") as never;

/** In a caller's place: no chunk for it in this round. */
export const SKIP: unique symbol = Symbol.for("batchwise.SKIP") as never;
