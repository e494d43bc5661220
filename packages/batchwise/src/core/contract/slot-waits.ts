// Lets streams see that the queue waits for a slot. A member of every batcher that is not public.

export const WATCH_SLOTS: unique symbol = Symbol("batchwise.watchSlots");

export interface WatchesSlots {
  /**
   * Has `onStep` called after each step of the batcher. What it returns says how the queue waits
   * for a slot that a batch holds: how many ms ago its oldest item came, where a batch could go; a
   * number below 0 where a batch can only go in so many ms; -Infinity where none can.
   */
  readonly [WATCH_SLOTS]: (onStep: () => void) => () => number;
}
