// An item in the engine, with the stream of the caller who submitted it. It forwards the caller's
// actions to the batch, and drops the stream when that has ended, because the engine keeps the item
// until its batch ends.

import { estimateOf } from "../core/submit/read-item.ts";
import { Channel, type ChannelOwner } from "./channel.ts";
import type { StreamSignal } from "./submission.ts";

/** The running batch of a caller. */
export interface StreamBatch extends Pick<ChannelOwner, "caughtUp" | "closed"> {
  /** A caller starts to wait for a chunk. */
  waits(item: Pick<StreamItem<unknown, unknown>, "waitsSince">): void;
}

export class StreamItem<Item, Chunk> implements ChannelOwner {
  readonly item: Item;
  /** The caller's stream; null before it is opened and after it has ended. */
  channel: Channel<Chunk> | null = null;
  readonly #streamSignal: StreamSignal;
  /** Its batch; null before that has started. */
  batch: StreamBatch | null = null;
  /**
   * When its reader began to wait while the batch waited for other readers; -Infinity otherwise.
   */
  waitsSince: number = -Infinity;

  constructor(item: Item, streamSignal: StreamSignal) {
    this.item = item;
    this.#streamSignal = streamSignal;
  }

  /**
   * The item's own estimate, read in the engine's order. The engine calls this if there is no
   * `cost` option, and checks the result.
   */
  estimateCost(): unknown {
    return estimateOf(this.item);
  }

  open(maxBufferedChunks: number): Channel<Chunk> {
    this.channel = new Channel<Chunk>(this, maxBufferedChunks);
    return this.channel;
  }

  caughtUp(): void {
    this.batch?.caughtUp();
  }

  /** True while its reader waits for a chunk. */
  get isWaiting(): boolean {
    return this.channel?.isAwaited ?? false;
  }

  waits(): void {
    this.batch?.waits(this);
  }

  closed(wasBehind: boolean): void {
    this.channel = null;
    this.#streamSignal.end();
    this.batch?.closed(wasBehind);
  }

  left(): void {
    this.#streamSignal.abort();
  }
}
