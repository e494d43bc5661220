// The public shapes of the engine: handler, context, batcher, and the options of its methods. Those
// of a batcher, and their defaults, are in options.ts.

import type { EventName, Listener, RunningBatch } from "./events.ts";
import type { HandlerDefaults } from "./handler-defaults.ts";
import type { Mapped, MapSource, MapWindow } from "./map-options.ts";
import type { ConfigureOptions, ShownOptions } from "./options.ts";
import type { BatchReason } from "./outcome.ts";
import type { BatcherStats } from "./stats.ts";

/** A typed array of numbers: a place is the number in it. */
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
 * What a handler may leave in a caller's place: the result, a promise of it, or an Error for that
 * caller alone.
 */
export type Place<Result> = Result | PromiseLike<Result> | Error;

/** One place per item, in the order of the items. */
export type Places<Result> = readonly Place<Result>[];

/** One waiting caller, as the handler sees it. */
export interface BatchRequest {
  /** What `captureContext` returned at this item's submit, or what was given as `context`. */
  readonly context: unknown;
  readonly priority: number;
  /**
   * From its submit, or from the end of its look-up in a cache, to the start of this batch, in
   * milliseconds.
   */
  readonly waitedMs: number;
}

/** What a handler may know about the batch it is given. */
export interface BatchContext {
  /** Unique among the batches of this process. */
  readonly id: string;
  /**
   * Aborts when every caller of the batch has gone, on `handlerTimeoutMs`, and on
   * `close({ drain: false })`.
   */
  readonly signal: AbortSignal;
  readonly key: string | undefined;
  /** The batch's cost by `batchCost`. */
  readonly cost: number;
  readonly reason: BatchReason;
  /** One entry an item, in the order of the items. */
  readonly requests: readonly BatchRequest[];
}

/** Answers a batch of items: one result per item, in order. */
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
  /** Options that suit this handler; each holds where the batcher's own options do not have it. */
  readonly defaults?: HandlerDefaults | undefined;
}

/** A handler object without stages: `run` gets the items and answers with their places. */
export type PlainHandlerObject<Item, Result> = HandlerObject<Item, Result, Item, Item[], Places<Result>>;

/** What a batch's output, left as it is, gives each caller. */
export type ResultOf<Output> = Output extends NumericArray
  ? Output[number]
  : Output extends readonly (infer P)[]
    ? P extends PromiseLike<infer Value>
      ? Value
      : Exclude<P, Error>
    : unknown;

/** What a batch's input is made of, where it is an array. */
export type ElementOf<Input> = Input extends readonly (infer Element)[] ? Element : unknown;

/** A function over a batch, or an object with stages. */
export type Handler<Item, Result> = HandlerFunction<Item, Result> | HandlerObject<Item, Result>;

/** What a caller may say about one submit. */
export interface SubmitOptions {
  /**
   * Aborting takes the item out of the queue, or out of its running batch; the caller gets the
   * signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first; stable among equals. Default 0. */
  readonly priority?: number | undefined;
  /** The item's cost, in place of the `cost` option. */
  readonly cost?: number | undefined;
  /**
   * The caller is answered within this many milliseconds of the submit, or gets DEADLINE_EXCEEDED.
   */
  readonly timeoutMs?: number | undefined;
  /** The item's key, in place of the `key` option. */
  readonly key?: string | undefined;
  /** What the handler finds in `context.requests[i].context`, in place of `captureContext`. */
  readonly context?: unknown;
}

/** What a caller may say about all items of one `submitMany`. */
export interface SubmitManyOptions<Item> extends Omit<SubmitOptions, "priority" | "cost"> {
  /** The priority of all of them, or of each. */
  readonly priority?: number | ((item: Item) => number) | undefined;
  /** The cost of each of them, in place of the `cost` option. */
  readonly cost?: number | ((item: Item) => number) | undefined;
}

/**
 * Options of `map`. `signal` ends the iteration with the signal's reason; the others hold for each
 * item.
 */
export interface MapOptions<Item, Settled extends boolean = boolean>
  extends SubmitManyOptions<Item>,
    MapWindow<Settled> {}

/** Which lane `flush` and `forget` mean. */
export interface LaneOptions {
  /** The lane of this key alone. */
  readonly key?: string | undefined;
}

/**
 * The type of a decorated method's second parameter, where callers of the method give submit
 * options. Callers pass {@link SubmitOptions}; the method finds the {@link BatchContext} of its
 * batch there. `requests` is set in the method alone: once it is checked, the compiler knows the
 * whole context.
 */
export type BatchedCall =
  | BatchContext
  | (SubmitOptions & { readonly id?: undefined; readonly reason?: undefined; readonly requests?: undefined });

/** How `close` ends a batcher. */
export interface CloseOptions {
  /**
   * True (default): answer all that waits first. False: reject it with CLOSED and abort what runs.
   */
  readonly drain?: boolean | undefined;
}

/** Everything of a batcher that does not depend on how it is called. */
export interface BatcherControls {
  /**
   * Resolves when the queue has a place for this caller; rejects with CLOSED when there will be
   * none. Each free place goes to one caller, in the order in which they asked. Until the end of
   * the turn no other caller of `ready()` gets it, but a submit without `ready()` may take it:
   * submit at once.
   */
  ready(): Promise<void>;
  /**
   * Calls the handler's own `open` now, before traffic. Resolves when that is done; at once where
   * there is none.
   */
  open(): Promise<void>;
  /**
   * Sends what waits now, in one lane or in all, also when paused; resolves when all of it has
   * settled. What is being looked up in a cache does not wait yet.
   */
  flush(options?: LaneOptions): Promise<void>;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
  /**
   * Forgets the result of a `dedupe` key: later submits run anew, what runs now is not stored, and
   * `cache.delete` is called. Resolves when the cache has deleted it.
   */
  forget(dedupeKey: string, options?: LaneOptions): Promise<void>;
  /** Holds all batches back until `resume()`. Submits are taken on, deadlines and signals run. */
  pause(): void;
  resume(): void;
  /**
   * Changes limits from the next batch on. Throws, and changes nothing, where a value is not valid.
   */
  configure(changes: ConfigureOptions): void;
  /** The options in force. */
  readonly options: ShownOptions;
  /** A frozen snapshot of the counters. */
  stats(): BatcherStats;
  /** Starts the counters anew. What waits or runs counts as submitted anew. */
  resetStats(): void;
  /** The batches running now. */
  inspect(): readonly RunningBatch[];
  /** Calls the listener at each event; returns the function that ends that. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void;
  /**
   * Ends the batcher: see {@link CloseOptions}. Always the same promise; wrong options reject with
   * INVALID_OPTION, and close nothing.
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
   * Adds many items; their results in order. Rejects with the first failure while the others go on.
   */
  submitMany(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<Result[]>;
  /** Adds many items; each one's own outcome, in order. Never rejects for an item. */
  submitSettled(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<PromiseSettledResult<Result>[]>;
  /**
   * The results of a source of any length, read with `for await`: items are taken from the source
   * as results are read, at most `maxPending` ahead. In the order of the source unless `ordered` is
   * false. A full queue is waited for, also with `onFull: "reject"`. Leaving the loop cancels what
   * is under way and closes the source.
   *
   * The iteration ends with the error of the first item that fails (with `settled` that is an
   * entry), with what the source throws, with the reason of `signal`, or with CLOSED.
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

/** A batcher that is also the function which submits one item. */
export interface BatchFunction<Item, Result> extends Batcher<Item, Result> {
  (item: Item, options?: SubmitOptions): Promise<Result>;
}
