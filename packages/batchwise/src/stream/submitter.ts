// Submits items to the engine: one item with a stream for an answer, or many with their chunks
// collected.

import { ignoreIfPromise } from "../core/contract/thenable.ts";
import type { Batcher, SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { anArray, expected } from "../core/contract/validate.ts";
import { AbortSignals } from "../core/submit/abort-signals.ts";
import type { Channel } from "./channel.ts";
import { StreamItem } from "./stream-item.ts";
import { optionsFor, readOnce, StreamSignal } from "./submission.ts";

export class Submitter<Item, Chunk> {
  readonly #core: Batcher<StreamItem<Item, Chunk>, void>;
  readonly #maxBufferedChunks: number;
  readonly #signals: AbortSignals = new AbortSignals({ inOneStep: (work) => work() });

  constructor(core: Batcher<StreamItem<Item, Chunk>, void>, maxBufferedChunks: number) {
    this.#core = core;
    this.#maxBufferedChunks = maxBufferedChunks;
  }

  /** Never throws: the stream fails with the error with which a plain submit would reject. */
  submit(item: Item, options: SubmitOptions | undefined): Channel<Chunk> {
    return this.#submit(item, options, null);
  }

  async submitMany(items: readonly Item[], options: SubmitManyOptions<Item> | undefined): Promise<Chunk[][]> {
    return Promise.all(this.#collectAll(items, options));
  }

  async submitSettled(
    items: readonly Item[],
    options: SubmitManyOptions<Item> | undefined,
  ): Promise<PromiseSettledResult<Chunk[]>[]> {
    return Promise.allSettled(this.#collectAll(items, options));
  }

  #submit(
    item: Item,
    given: SubmitOptions | SubmitManyOptions<Item> | undefined,
    ofMany: { readonly item: Item } | null,
  ): Channel<Chunk> {
    const streamSignal = new StreamSignal();
    const streamItem = new StreamItem<Item, Chunk>(item, streamSignal);
    const channel = streamItem.open(this.#maxBufferedChunks);
    this.#core.submit(streamItem, optionsFor(given, streamSignal, this.#signals, ofMany)).then(
      () => channel.end(),
      (error: unknown) => channel.fail(error),
    );
    return channel;
  }

  /** Reads all items before the first is submitted, because a user's array may throw half way. */
  #collectAll(items: readonly Item[], options: SubmitManyOptions<Item> | undefined): Promise<Chunk[]>[] {
    if (!Array.isArray(items)) throw expected("items", anArray, items);
    const all: Item[] = Array.from(items);
    if (this.#neverFits(all.length)) return this.#refuseAll(all);
    const given = readOnce(options);
    return all.map((item) => collect(this.#submit(item, given, { item })));
  }

  /**
   * True for a call that the queue can never hold at once. The engine sees single streams, so it
   * cannot check this.
   */
  #neverFits(size: number): boolean {
    const { onFull, maxQueueSize } = this.#core.options;
    return onFull === "reject" && size > maxQueueSize;
  }

  /**
   * Submits the items as one call, which the engine refuses as a whole: it makes the errors and
   * counts the items.
   */
  #refuseAll(items: readonly Item[]): Promise<Chunk[]>[] {
    const refused = this.#core.submitSettled(
      items.map((item) => new StreamItem<Item, Chunk>(item, new StreamSignal())),
    );
    return items.map(async (_, index) => {
      const outcome = (await refused)[index];
      if (outcome?.status === "rejected") throw outcome.reason;
      return [];
    });
  }
}

async function collect<Chunk>(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) {
    // The caller gets the promise, and sees its rejection, when the stream has ended.
    ignoreIfPromise(chunk);
    chunks.push(chunk);
  }
  return chunks;
}
