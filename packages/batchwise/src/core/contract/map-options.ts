// What `map` takes and gives.

/**
 * Items for `map`. Promises in a plain iterable are awaited one after the other, as `for await`
 * does.
 */
export type MapSource<Item> = Iterable<Item | PromiseLike<Item>> | AsyncIterable<Item>;

/** The options of `map` beside those of a submit. */
export interface MapWindow<Settled extends boolean = boolean> {
  /** True (default): results in the order of the source. False: each as soon as it is there. */
  readonly ordered?: boolean | undefined;
  /**
   * Items taken from the source whose results have not been read. No more is taken meanwhile, so
   * this bounds memory. Integer >= 1 or Infinity. Default: two rounds of full batches
   * (`2 * maxBatchSize * concurrency`), at most `maxQueueSize` and 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * True: a failed item is an entry `{ status: "rejected", reason }`. False (default): it ends the
   * iteration.
   */
  readonly settled?: Settled | undefined;
}

/** What `map` gives for an item. */
export type Mapped<Result, Settled extends boolean> = Settled extends true ? PromiseSettledResult<Result> : Result;
