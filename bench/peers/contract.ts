/**
 * The one shape in which every contender is driven, and the load it is asked to carry.
 *
 * Guarantees that each contender gets the same handler, the same caps and the same promise per
 * item. Does not hide what a contender lacks: a missing concurrency limit or result per item is
 * added by the smallest glue there is, in the contender's own file.
 */

/** The work itself: one result an item, in order. */
export type Handler = (items: readonly number[]) => Promise<readonly number[]>;

/** What the load asks of the contender. */
export interface Shape {
  readonly maxBatchSize: number;
  /** Batches that may run at once; `Infinity` where the load sets no limit. */
  readonly slots: number;
  /** How long a batch may wait for company, in milliseconds; 0 is "no longer than this turn". */
  readonly windowMs: number;
  /** Waiting items that must be accepted. Only batchwise has a bound to raise. */
  readonly queue: number;
}

/** A contender, made for one shape. */
export interface Loader {
  load(value: number): Promise<number>;
  /** Takes many values in one call, where the contender can. */
  loadMany?(values: readonly number[]): Promise<readonly number[]>;
  /** Called after each burst, for a contender that cannot tell by itself that one has ended. */
  endBurst?(): void;
  /** Called once after a measured run, for a contender whose statistics are part of the claim. */
  readStatistics?(): unknown;
}

export type LoaderFactory = (handler: Handler, shape: Shape) => Loader;
