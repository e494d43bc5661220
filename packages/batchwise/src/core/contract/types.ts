// The public types of the engine: handler, context, batcher, and the options of its methods.
// Options of a batcher and their defaults are in options.ts.

import type { EventName, Listener, RunningBatch } from "./events.ts";
import type { HandlerDefaults } from "./handler-defaults.ts";
import type { Mapped, MapSource, MapWindow } from "./map-options.ts";
import type { ConfigureOptions, ShownOptions } from "./options.ts";
import type { BatchReason } from "./outcome.ts";
import type { BatcherStats } from "./stats.ts";

/** A typed array of numbers. Each number is one result. */
export type NumericArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/**
 * A handler's answer for one caller: the result, a promise of it, or an Error for only that caller.
 */
export type Place<Result> = Result | PromiseLike<Result> | Error;

/** One answer per item, in item order. */
export type Places<Result> = readonly Place<Result>[];

/** One waiting caller, for the handler. */
export interface BatchRequest {
  /** The value of `captureContext` at this item's submit, or the given `context`. */
  readonly context: unknown;
  readonly priority: number;
  /** From its submit, or the end of its cache look-up, to the start of this batch, in ms. */
  readonly waitedMs: number;
}

/** Facts about a batch for its handler. */
export interface BatchContext {
  /** Unique in this process. */
  readonly id: string;
  /**
   * Aborts when every caller of the batch has left, on `handlerTimeoutMs`, and on
   * `close({ drain: false })`.
   */
  readonly signal: AbortSignal;
  readonly key: string | undefined;
  /** The batch's cost by `batchCost`. */
  readonly cost: number;
  readonly reason: BatchReason;
  /** One entry per item, in item order. */
  readonly requests: readonly BatchRequest[];
}

/** Answers a batch of items with one result per item, in order. */
export type HandlerFunction<Item, Result> = (
  items: Item[],
  context: BatchContext,
) => Places<Result> | PromiseLike<Places<Result>>;

/** Answers a batch with a typed array of numbers. */
export type NumericHandlerFunction<Item, Numbers extends NumericArray> = (
  items: Item[],
  context: BatchContext,
) => Numbers | PromiseLike<Numbers>;

/**
 * A handler in stages. `prepareItem` runs at submit, on the caller's time; a promise that it
 * returns is awaited first. With `prefetch >= 1`, `prepare` and `finish` of one batch overlap `run`
 * of another. `open` runs once before the first batch, `close` once after the last.
 */
export interface HandlerObject<
  Item,
  Result,
  Prepared = Item,
  Input = Prepared[],
  Output = Places<Result> | NumericArray,
> {
  prepareItem?(item: Item): Prepared | PromiseLike<Prepared>;
  prepare?(items: Prepared[], context: BatchContext): Input | PromiseLike<Input>;
  run(input: Input, context: BatchContext): Output | PromiseLike<Output>;
  finish?(
    output: Output,
    context: BatchContext,
  ): Places<Result> | NumericArray | PromiseLike<Places<Result> | NumericArray>;
  open?(): void | PromiseLike<void>;
  close?(): void | PromiseLike<void>;
  /** Options that suit this handler. The batcher's own options take precedence. */
  readonly defaults?: HandlerDefaults | undefined;
}

/** A handler object without stages: `run` gets the items and returns their answers. */
export type PlainHandlerObject<Item, Result> = HandlerObject<Item, Result, Item, Item[], Places<Result>>;

/** The result type for each caller if the batch's output is not transformed. */
export type ResultOf<Output> = Output extends NumericArray
  ? Output[number]
  : Output extends readonly (infer P)[]
    ? P extends PromiseLike<infer Value>
      ? Value
      : Exclude<P, Error>
    : unknown;

/** The element type of a batch's input, if it is an array. */
export type ElementOf<Input> = Input extends readonly (infer Element)[] ? Element : unknown;

/** A function over a batch, or an object with stages. */
export type Handler<Item, Result> = HandlerFunction<Item, Result> | HandlerObject<Item, Result>;

/** Options of one submit. */
export interface SubmitOptions {
  /**
   * Aborting removes the item from the queue or from its running batch. The caller gets the
   * signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first; stable among equals. Default 0. */
  readonly priority?: number | undefined;
  /** The item's cost. Overrides the option `cost`. */
  readonly cost?: number | undefined;
  /** Maximum ms from submit to answer; then the caller gets DEADLINE_EXCEEDED. */
  readonly timeoutMs?: number | undefined;
  /** The item's key. Overrides the option `key`. */
  readonly key?: string | undefined;
  /** The value of `context.requests[i].context`. Overrides `captureContext`. */
  readonly context?: unknown;
}

/** Options of one `submitMany`, for all of its items. */
export interface SubmitManyOptions<Item> extends Omit<SubmitOptions, "priority" | "cost"> {
  /** The priority of all items, or a function of each. */
  readonly priority?: number | ((item: Item) => number) | undefined;
  /** The cost of each item. Overrides the option `cost`. */
  readonly cost?: number | ((item: Item) => number) | undefined;
}

/** Options of `map`. `signal` ends the iteration with its reason; the others apply to each item. */
export interface MapOptions<Item, Settled extends boolean = boolean>
  extends SubmitManyOptions<Item>,
    MapWindow<Settled> {}

/** Selects a lane for `flush` and `forget`. */
export interface LaneOptions {
  /** Only the lane of this key. */
  readonly key?: string | undefined;
}

/**
 * The type of a decorated method's second parameter, for methods called with submit options.
 * Callers pass {@link SubmitOptions}; the method gets its batch's {@link BatchContext}. Only the
 * context has `requests`, so a check for it narrows the type.
 */
export type BatchedCall =
  | BatchContext
  | (SubmitOptions & { readonly id?: undefined; readonly reason?: undefined; readonly requests?: undefined });

/** Options of `close`. */
export interface CloseOptions {
  /**
   * True (default): answer all waiting items first. False: reject them with CLOSED and abort
   * running batches.
   */
  readonly drain?: boolean | undefined;
}

/** The members of a batcher that do not depend on how it is called. */
export interface BatcherControls {
  /**
   * Resolves when the queue has a free place for this caller; rejects with CLOSED if there will be
   * none. Each free place goes to one caller, in call order. Until the end of the turn no other
   * caller of `ready()` gets it, but a submit without `ready()` may, and so may items that wait
   * for a retry: submit at once.
   */
  ready(): Promise<void>;
  /**
   * Calls the handler's `open` now, before traffic. Resolves when it is done; at once if there is
   * none.
   */
  open(): Promise<void>;
  /**
   * Sends the waiting items of one lane or all, also when paused. Resolves when all of them have
   * settled. Items in a cache look-up do not count.
   */
  flush(options?: LaneOptions): Promise<void>;
  /** Resolves when no item waits or runs. */
  idle(): Promise<void>;
  /**
   * Discards the result of a `dedupe` key: later submits run again, a running result is not stored,
   * and `cache.delete` is called. Resolves when the cache has deleted it.
   */
  forget(dedupeKey: string, options?: LaneOptions): Promise<void>;
  /**
   * Holds all batches until `resume()`. Submits are still accepted; deadlines and signals still
   * apply.
   */
  pause(): void;
  resume(): void;
  /** Changes limits from the next batch on. Throws, and changes nothing, for an invalid value. */
  configure(changes: ConfigureOptions): void;
  /** The options in force. */
  readonly options: ShownOptions;
  /** A frozen snapshot of the counters. */
  stats(): BatcherStats;
  /** Resets the counters. Waiting and running items count as submitted now. */
  resetStats(): void;
  /** The running batches. */
  inspect(): readonly RunningBatch[];
  /** Calls the listener at each event. Returns a function that removes it. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void;
  /**
   * Closes the batcher: see {@link CloseOptions}. Returns the same promise each time. Invalid
   * options reject with INVALID_OPTION and close nothing.
   */
  close(options?: CloseOptions): Promise<void>;
  /** True from the first `close()` on. */
  readonly closed: boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Gathers single items into batches and gives every caller its own answer. */
export interface Batcher<Item, Result> extends BatcherControls {
  /**
   * Adds one item to the next batch.
   * @returns the item's own result. Rejects with the handler's error, the signal's reason, or a
   * BatchwiseError.
   */
  submit(item: Item, options?: SubmitOptions): Promise<Result>;
  /**
   * Adds many items and returns their results in order. Rejects with the first failure; the other
   * items continue.
   */
  submitMany(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<Result[]>;
  /** Adds many items and returns their outcomes in order. Never rejects for an item. */
  submitSettled(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<PromiseSettledResult<Result>[]>;
  /**
   * The results of a source of any length, read with `for await`. Takes items from the source as
   * results are read, at most `maxPending` ahead. Results have source order unless `ordered` is
   * false. Waits for a full queue, also with `onFull: "reject"`. Leaving the loop cancels pending
   * items and closes the source.
   *
   * The iteration ends with the error of the first failed item (with `settled` that is an entry),
   * an error of the source, the reason of `signal`, or CLOSED.
   * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
   *
   * @example
   * ```ts
   * import { createBatcher } from "batchwise";
   * const lengths = createBatcher(async (texts: string[]) => texts.map((text) => text.length));
   * const rows = async function* () {
   *   for (let row = 0; row < 1_000; row += 1) yield `row ${row}`;
   * };
   * for await (const length of lengths.map(rows())) console.log(length);
   * ```
   */
  map<Settled extends boolean = false>(
    source: MapSource<Item>,
    options?: MapOptions<Item, Settled>,
  ): AsyncIterableIterator<Mapped<Result, Settled>, undefined>;
}

/** A batcher that is also a function: calling it submits one item. */
export interface BatchFunction<Item, Result> extends Batcher<Item, Result> {
  (item: Item, options?: SubmitOptions): Promise<Result>;
}
