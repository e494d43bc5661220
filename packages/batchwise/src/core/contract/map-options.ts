// Types of `map`.

/** Items for `map`. Promises in a plain iterable are awaited in order, as `for await` does. */
export type MapSource<Item> = Iterable<Item | PromiseLike<Item>> | AsyncIterable<Item>;

/** Options of `map` in addition to the submit options. */
export interface MapWindow<Settled extends boolean = boolean> {
  /** True (default): results in source order. False: each as soon as it is ready. */
  readonly ordered?: boolean | undefined;
  /**
   * Maximum items taken from the source whose results are unread. This bounds memory. Integer >= 1
   * or Infinity. Default: two rounds of full batches (`2 * maxBatchSize * concurrency`), at most
   * `maxQueueSize` and 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * True: a failed item gives `{ status: "rejected", reason }`. False (default): it ends the
   * iteration.
   */
  readonly settled?: Settled | undefined;
}

/** The result of one item. */
export type Mapped<Result, Settled extends boolean> = Settled extends true ? PromiseSettledResult<Result> : Result;
