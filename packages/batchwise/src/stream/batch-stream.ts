// Batching of streaming handlers: every caller gets its own stream out of one generator's rounds. Waiting, packing,
// slots, deadlines and statistics are the engine's. A stream is never computed twice, so nothing is retried or shared.

import { callable } from "../core/api/callable.ts";
import type { BatchOptions } from "../core/contract/options.ts";
import type { BatchContext, BatcherControls, SubmitOptions } from "../core/contract/types.ts";
import { aFunction, check, checkIsObject, invalidOption } from "../core/contract/validate.ts";
import { BatcherCore } from "../core/engine/batcher.ts";
import { Departures } from "./departures.ts";
import type { DONE, SKIP } from "./marks.ts";
import { Production } from "./produce.ts";
import { StreamItem } from "./stream-item.ts";

/** One round of a streaming handler: a place per item of the batch, always full length. */
export type Round<Chunk> = readonly (Chunk | typeof DONE | typeof SKIP | Error)[];

/** Yields rounds. An Error in a place ends that caller's stream with it; DONE ends it; SKIP gives it nothing. */
export type StreamHandler<Item, Chunk> = (
  items: Item[],
  context: BatchContext,
) => AsyncIterable<Round<Chunk>> | Iterable<Round<Chunk>> | PromiseLike<AsyncIterable<Round<Chunk>>>;

/** A stream cannot be computed twice or shared, and each is a call of one item: these options do not apply to it. */
type NotForStreams = "dedupe" | "cache" | "retry" | "isolateFailures" | "smallCallFirst";

export type StreamOptions<Item> = Omit<BatchOptions<Item, never>, NotForStreams>;

/** Everything of a batcher, with streams for answers. */
export interface StreamBatcher<Item, Chunk> extends BatcherControls {
  /** Submits at once; the stream fails with what a plain submit would reject with. */
  submit(item: Item, options?: SubmitOptions): AsyncIterableIterator<Chunk, undefined>;
  /** Submits many and collects each one's chunks. Rejects with the first failure while the others go on. */
  submitMany(items: readonly Item[], options?: SubmitOptions): Promise<Chunk[][]>;
  /** Submits many and collects each one's chunks or failure. */
  submitSettled(items: readonly Item[], options?: SubmitOptions): Promise<PromiseSettledResult<Chunk[]>[]>;
}

export interface StreamFunction<Item, Chunk> extends StreamBatcher<Item, Chunk> {
  (item: Item, options?: SubmitOptions): AsyncIterableIterator<Chunk, undefined>;
}

const NOT_FOR_STREAMS: readonly NotForStreams[] = ["dedupe", "cache", "retry", "isolateFailures", "smallCallFirst"];

/**
 * Makes a function that batches a streaming handler: `fn(item)` submits the item at once and returns its stream.
 *
 * The handler yields rounds: arrays with one place per item of the batch, always full length. A chunk in a place goes
 * to that caller; {@link DONE} ends that caller's stream, {@link SKIP} gives it nothing, an Error fails it alone. The
 * next round is asked for when every caller has read its chunk. A caller who stops reading (`break`) leaves the batch;
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
  check("handler", aFunction, handler);
  const core = new BatcherCore(
    (items: StreamItem<Item, Chunk>[], context: BatchContext) =>
      new Production(items, context).start(() =>
        handler(
          items.map(({ item }) => item),
          context,
        ),
      ),
    streamOptions(options),
  );
  const departures = new Departures();
  const submit = (item: Item, submitOptions?: SubmitOptions): AsyncIterableIterator<Chunk, undefined> => {
    const departure = departures.open(submitOptions);
    const streamItem = new StreamItem<Item, Chunk>(item, departure);
    const { channel } = streamItem;
    core.submit(streamItem, departure.options).then(
      () => channel.end(),
      (error: unknown) => channel.fail(error),
    );
    return channel;
  };
  const many = (items: readonly Item[], submitOptions?: SubmitOptions): Promise<Chunk[]>[] => {
    if (!Array.isArray(items)) throw invalidOption(TypeError, "Expected `items` to be an array");
    return Array.from(items, (item) => collect(submit(item, submitOptions)));
  };
  return Object.defineProperties(callable(core, submit), {
    submit: { value: submit, enumerable: true },
    submitMany: { value: async (...args: Parameters<typeof many>) => Promise.all(many(...args)), enumerable: true },
    submitSettled: {
      value: async (...args: Parameters<typeof many>) => Promise.allSettled(many(...args)),
      enumerable: true,
    },
  }) as unknown as StreamFunction<Item, Chunk>;
}

async function collect<Chunk>(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** The options as the engine wants them: the user's functions see the items, not what carries them. */
function streamOptions<Item>(options: StreamOptions<Item> | undefined): object {
  checkIsObject("options", options);
  for (const name of NOT_FOR_STREAMS) {
    if ((options as Record<string, unknown> | undefined)?.[name] === undefined) continue;
    throw invalidOption(TypeError, `Expected no \`${name}\`: it does not apply to a stream`);
  }
  const { cost, key, fairBy, batchCost, ...rest } = options ?? {};
  const costOfBatch =
    typeof batchCost === "function"
      ? (items: readonly Carrier<Item>[]) => batchCost(items.map(({ item }) => item))
      : batchCost;
  return { ...rest, cost: unwrapped(cost), key: unwrapped(key), fairBy: unwrapped(fairBy), batchCost: costOfBatch };
}

interface Carrier<Item> {
  readonly item: Item;
}

function unwrapped<Item, Value>(
  of: ((item: Item) => Value) | undefined,
): ((carrier: Carrier<Item>) => Value) | undefined {
  return typeof of === "function" ? (carrier) => of(carrier.item) : of;
}
