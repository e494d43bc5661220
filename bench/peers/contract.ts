/**
 * The interface of every contender, and the load that it gets.
 *
 * Guarantees that each contender gets the same handler, the same limits and one promise per item. A
 * missing feature is not hidden: a concurrency limit or result per item is added with the least
 * code, in the contender's own file.
 */

/** The work itself: one result per item, in order. */
export type Handler = (items: readonly number[]) => Promise<readonly number[]>;

/** The load's requirements. */
export interface Shape {
  readonly maxBatchSize: number;
  /** Most concurrent batches; `Infinity` if the load sets no limit. */
  readonly slots: number;
  /** Longest wait in ms for a fuller batch; 0: until the end of this turn. */
  readonly windowMs: number;
  /** Waiting items that must be accepted. Only batchwise has a limit to raise. */
  readonly queue: number;
}

/** A contender, made for one shape. */
export interface Loader {
  load(value: number): Promise<number>;
  /** Takes many values in one call, if the contender can. */
  loadMany?(values: readonly number[]): Promise<readonly number[]>;
  /** Called after each burst, for a contender that cannot detect its end. */
  endBurst?(): void;
  /** Called once after a measured run, for a contender whose statistics are part of the claim. */
  readStatistics?(): unknown;
}

export type LoaderFactory = (handler: Handler, shape: Shape) => Loader;
