// An item on its way through the engine, with the stream of the caller who submitted it. It tells
// the batch what the caller does, and lets go of the stream when that is over: the engine keeps the
// item until its batch has ended.

import { estimateOf } from "../core/submit/read-item.ts";
import { Channel, type ChannelOwner } from "./channel.ts";
import type { BatchMate } from "./stall.ts";
import type { Departure } from "./submission.ts";

/** The batch that a caller is in, once it runs. */
export interface StreamBatch {
  /** A caller was behind and is not any more. */
  caughtUp(): void;
  /** A caller begins to wait for a chunk. */
  waits(item: BatchMate): void;
  /** A caller's stream is over. */
  closed(wasBehind: boolean): void;
}

export class StreamItem<Item, Chunk> implements ChannelOwner, BatchMate {
  readonly item: Item;
  #channel: Channel<Chunk> | null = null;
  readonly #departure: Departure;
  #batch: StreamBatch | null = null;
  /** When its reader began to wait, where that was while the batch waited for other readers. */
  waitsSince: number = -Infinity;

  constructor(item: Item, departure: Departure) {
    this.item = item;
    this.#departure = departure;
  }

  /** The caller's stream; null before it was opened and when it is over. */
  get channel(): Channel<Chunk> | null {
    return this.#channel;
  }

  /**
   * The item's own estimate, in the order in which the engine asks an item for it. The engine calls
   * this when there is no `cost` option, and checks what it returns.
   */
  estimateCost(): unknown {
    return estimateOf(this.item);
  }

  open(maxBufferedChunks: number): Channel<Chunk> {
    const channel = new Channel<Chunk>(this, maxBufferedChunks);
    this.#channel = channel;
    return channel;
  }

  joins(batch: StreamBatch): void {
    this.#batch = batch;
  }

  caughtUp(): void {
    this.#batch?.caughtUp();
  }

  /** True while its reader waits for a chunk. */
  get isWaiting(): boolean {
    return this.#channel?.isAwaited ?? false;
  }

  waits(): void {
    this.#batch?.waits(this);
  }

  closed(wasBehind: boolean): void {
    this.#channel = null;
    this.#departure.end();
    this.#batch?.closed(wasBehind);
  }

  left(): void {
    this.#departure.leave();
  }
}
