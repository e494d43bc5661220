// An item on its way through the engine, with the stream of the caller who submitted it. Passes what happens to the
// stream on to the batch, once there is one.

import { Channel, type ChannelOwner } from "./channel.ts";
import type { Departure } from "./departures.ts";

/** What a batch is told of its callers' streams. */
export interface Audience {
  drained(): void;
  closed(wasFull: boolean): void;
}

export class StreamItem<Item, Chunk> implements ChannelOwner {
  readonly item: Item;
  readonly channel: Channel<Chunk>;
  readonly #departure: Departure;
  #audience: Audience | null = null;

  constructor(item: Item, departure: Departure) {
    this.item = item;
    this.#departure = departure;
    this.channel = new Channel<Chunk>(this);
  }

  joins(audience: Audience): void {
    this.#audience = audience;
  }

  drained(): void {
    this.#audience?.drained();
  }

  closed(wasFull: boolean): void {
    this.#departure.end();
    this.#audience?.closed(wasFull);
  }

  left(): void {
    this.#departure.leave();
  }
}
