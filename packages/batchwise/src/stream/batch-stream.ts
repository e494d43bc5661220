// Batching of streaming handlers: every caller gets its own stream out of one generator's rounds.
// The engine does the waiting, packing, slots, deadlines and statistics. A stream is never computed
// twice, so nothing is retried or shared.

import { NO_NAME } from "../core/contract/errors.ts";
import { type EventName, Events, type Listener, printedName } from "../core/contract/events.ts";
import { noHandler } from "../core/contract/handler.ts";
import { nameOfHandler } from "../core/contract/handler-defaults.ts";
import { WATCH_SLOTS, type WatchesSlots } from "../core/contract/slot-waits.ts";
import type {
  BatchContext,
  Batcher,
  BatcherControls,
  SubmitManyOptions,
  SubmitOptions,
} from "../core/contract/types.ts";
import { aFunction, checkIsObject } from "../core/contract/validate.ts";
import { captureAsyncContext } from "../core/time/async-context.ts";
import { createBatcher } from "../makers/batch.ts";
import { callable } from "../makers/callable.ts";
import type { DONE, SKIP } from "./marks.ts";
import { Producer } from "./produce.ts";
import type { Stall } from "./stall.ts";
import type { StreamItem } from "./stream-item.ts";
import {
  type ResolvedStreamOptions,
  refuseOptions,
  resolveStreamOptions,
  type StreamOptions,
} from "./stream-options.ts";
import { Submitter } from "./submitter.ts";

export type { StreamOptions } from "./stream-options.ts";

/** One round of a streaming handler: one place per item of the batch, always full length. */
export type Round<Chunk> = readonly (Chunk | typeof DONE | typeof SKIP | Error)[];

/**
 * Yields rounds. An Error in a place ends that caller's stream with it; DONE ends it; SKIP gives it
 * no chunk.
 */
export type StreamHandler<Item, Chunk> = (
  items: Item[],
  context: BatchContext,
) => AsyncIterable<Round<Chunk>> | Iterable<Round<Chunk>> | PromiseLike<AsyncIterable<Round<Chunk>>>;

/** A batcher whose answers are streams. */
export interface StreamBatcher<Item, Chunk> extends BatcherControls {
  /** Submits at once. The stream fails with the error with which a plain submit would reject. */
  submit(item: Item, options?: SubmitOptions): AsyncIterableIterator<Chunk, undefined>;
  /**
   * Submits many and collects the chunks of each. Rejects with the first failure; the other streams
   * continue.
   */
  submitMany(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<Chunk[][]>;
  /** Submits many and collects the chunks or the failure of each. */
  submitSettled(items: readonly Item[], options?: SubmitManyOptions<Item>): Promise<PromiseSettledResult<Chunk[]>[]>;
  readonly options: ResolvedStreamOptions;
}

/** A function that streams the chunks of one item, with every member of a batcher on it. */
export interface StreamFunction<Item, Chunk> extends StreamBatcher<Item, Chunk> {
  (item: Item, options?: SubmitOptions): AsyncIterableIterator<Chunk, undefined>;
}

/**
 * Makes a function that batches a streaming handler: `fn(item)` submits the item at once and
 * returns its stream.
 *
 * The handler yields rounds: arrays with one place per item of the batch, always full length. A
 * chunk in a place goes to that caller; {@link DONE} ends that caller's stream, {@link SKIP} gives
 * it no chunk, an Error fails only its stream. The next round is requested while no caller has more
 * than `maxBufferedChunks` unread chunks. A caller who stops reading (`break`) leaves the batch;
 * `context.signal` aborts when all have left.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { batchStream, DONE } from "batchwise";
 * const spell = batchStream(async function* (words: string[]) {
 *   for (let index = 0; ; index += 1) {
 *     const round = words.map((word) => word[index] ?? DONE);
 *     yield round;
 *   }
 * });
 * for await (const letter of spell("abc")) console.log(letter);
 * ```
 */
export function batchStream<Item, Chunk>(
  handler: StreamHandler<Item, Chunk>,
  options?: StreamOptions<Item>,
): StreamFunction<Item, Chunk> {
  if (typeof handler !== "function") throw noHandler(aFunction, handler, options);
  const { maxBufferedChunks, maxStallMs, engine } = resolveStreamOptions<Item, StreamItem<Item, Chunk>>(options);
  const stalls = new Set<Stall>();
  const warn = (message: string): void => warnings.warn("STREAM_BLOCKED", message);
  const { name = NO_NAME } = engine;
  const run = (items: StreamItem<Item, Chunk>[], context: BatchContext): Promise<void>[] => {
    const values = items.map(({ item }) => item);
    const { clock } = core.options;
    const services = { name, clock, maxBufferedChunks, maxStallMs, slotWaitMs, stalls, warn };
    return new Producer(items, context, services).start(() => handler(values, context));
  };
  const named = Object.defineProperty(run, "name", { value: nameOfHandler(handler) });
  const core = createBatcher(named, engine) as Batcher<StreamItem<Item, Chunk>, void> & WatchesSlots;
  const slotWaitMs = core[WATCH_SLOTS](() => {
    for (const stall of stalls) stall.look();
  });
  // Warnings raised before there is a listener are delivered to the first one while it is added, in
  // the async context of the code that adds it.
  const warnings = new Events(captureAsyncContext(), printedName(core.options));
  const submitter = new Submitter(core, maxBufferedChunks);
  const shown = core.options.name;
  const calls = { [shown]: (item: Item, given?: SubmitOptions) => submitter.submit(item, given) };
  return Object.defineProperties(callable(core, shown, calls), {
    submit: { value: calls[shown], enumerable: true },
    // Hides `map` of the batcher below, whose items are streams.
    map: { value: undefined },
    submitMany: { value: submitter.submitMany.bind(submitter), enumerable: true },
    submitSettled: { value: submitter.submitSettled.bind(submitter), enumerable: true },
    configure: { value: configurer(core), enumerable: true },
    on: { value: listener(core, warnings), enumerable: true },
    options: { get: () => Object.freeze({ ...core.options, maxBufferedChunks, maxStallMs }), enumerable: true },
  }) as unknown as StreamFunction<Item, Chunk>;
}

/** The batcher's `configure`, without the options that do not apply. */
function configurer(core: BatcherControls): BatcherControls["configure"] {
  return (changes) => {
    checkIsObject("changes", changes);
    const read = { ...changes };
    refuseOptions(read);
    core.configure(read);
  };
}

/** The batcher's `on`; its "warning" also receives the warnings of streams. */
function listener(core: BatcherControls, warnings: Events): BatcherControls["on"] {
  return <Name extends EventName>(name: Name, listen: Listener<Name>): (() => void) => {
    const ends = [core.on(name, listen)];
    if (name === "warning") ends.push(warnings.on(name, listen));
    return () => {
      for (const end of ends) end();
    };
  };
}
