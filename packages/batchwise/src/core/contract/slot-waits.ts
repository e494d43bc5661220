// Tells streams that the queue waits for a slot. A non-public member of every batcher.

export const WATCH_SLOTS: unique symbol = Symbol("batchwise.watchSlots");

export interface WatchesSlots {
  /**
   * Registers `onStep`, which is called after each step of the batcher. Returns a function for the
   * state of the queue: ms since its oldest item came, if a batch could go; a negative number if
   * one can go in that many ms; -Infinity if none can.
   */
  readonly [WATCH_SLOTS]: (onStep: () => void) => () => number;
}
