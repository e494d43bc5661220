// Runs one streaming batch: asks the handler for a round, deals its places out to the callers' channels, and asks for
// the next only when every caller has taken its chunk. So a slow reader holds the producer, and memory stays at one
// chunk a caller.

import { batchResultError, isError } from "../core/errors.ts";
import type { BatchContext } from "../core/types.ts";
import { Channel, type ChannelOwner } from "./channel.ts";
import { DONE, SKIP } from "./marks.ts";

/** An item on its way through the engine, with the stream of the caller who submitted it. */
export class StreamItem<Item, Chunk> implements ChannelOwner {
  readonly item: Item;
  readonly channel: Channel<Chunk>;
  readonly #leave: () => void;
  #production: Production<Item, Chunk> | null = null;

  constructor(item: Item, leave: () => void) {
    this.item = item;
    this.#leave = leave;
    this.channel = new Channel<Chunk>(this);
  }

  joins(production: Production<Item, Chunk>): void {
    this.#production = production;
  }

  drained(): void {
    this.#production?.wake();
  }

  left(): void {
    this.#leave();
    this.#production?.wake();
  }
}

export type Rounds = AsyncIterator<unknown> | Iterator<unknown>;

export class Production<Item, Chunk> {
  readonly #items: readonly StreamItem<Item, Chunk>[];
  readonly #signal: AbortSignal;
  readonly #finish: ((failure: Promise<never> | undefined) => void)[] = [];
  /** Callers who ended with the last round: settled when the handler has stopped, for until then it holds its slot. */
  #last: [number, unknown][] = [];
  #wake: () => void = () => {};

  constructor(items: readonly StreamItem<Item, Chunk>[], context: BatchContext) {
    this.#items = items;
    this.#signal = context.signal;
  }

  /** Starts. One promise a caller: settled when the caller's stream has ended, the last one when the handler has. */
  start(open: () => unknown): Promise<void>[] {
    const places = this.#items.map(
      (item) =>
        new Promise<void>((resolve) => {
          this.#finish.push(resolve as (failure: Promise<never> | undefined) => void);
          item.joins(this);
        }),
    );
    this.#signal.addEventListener("abort", this.wake, { once: true });
    this.#run(open).then(
      () => this.#end(undefined),
      (error: unknown) => this.#end({ error }),
    );
    return places;
  }

  /** Looks again at what may have changed: a channel has room, a caller has left, the batch was aborted. */
  readonly wake = (): void => {
    this.#wake();
  };

  async #run(open: () => unknown): Promise<void> {
    const rounds = roundsOf(await open(), this.#items.length);
    try {
      while (await this.#isWanted()) {
        const round = await rounds.next();
        if (round.done === true) return;
        this.#deal(round.value);
      }
    } catch (error) {
      await stop(rounds);
      throw error;
    }
    await stop(rounds);
  }

  /** Waits until every caller has room; false when nobody is left. */
  async #isWanted(): Promise<boolean> {
    for (;;) {
      if (this.#signal.aborted) return false;
      const open = this.#items.filter(({ channel }) => channel.isOpen);
      if (open.length === 0) return false;
      if (open.every(({ channel }) => channel.hasRoom)) return true;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #deal(round: unknown): void {
    if (!Array.isArray(round) || round.length !== this.#items.length) throw batchResultError(round, this.#items.length);
    const ended: number[] = [];
    this.#items.forEach(({ channel }, index) => {
      const place: unknown = round[index];
      if (!channel.isOpen || place === SKIP) return;
      if (place === DONE || isError(place)) {
        if (place === DONE) channel.end();
        else channel.fail(place);
        ended.push(index);
      } else {
        channel.push(place as Chunk);
      }
    });
    if (this.#items.some(({ channel }) => channel.isOpen)) for (const index of ended) this.#settle(index, round[index]);
    else this.#last = ended.map((index) => [index, round[index]]);
  }

  #settle(index: number, place: unknown): void {
    this.#finish[index]?.(isError(place) ? rejected(place) : undefined);
  }

  #end(failure: { readonly error: unknown } | undefined): void {
    this.#signal.removeEventListener("abort", this.wake);
    for (const [index, place] of this.#last) this.#settle(index, place);
    this.#items.forEach(({ channel }, index) => {
      if (failure === undefined) {
        channel.end();
        this.#finish[index]?.(undefined);
      } else {
        channel.fail(failure.error);
        this.#finish[index]?.(rejected(failure.error));
      }
    });
  }
}

function rejected(error: unknown): Promise<never> {
  return Promise.reject(error);
}

function roundsOf(returned: unknown, expected: number): Rounds {
  const source = returned as
    | { [Symbol.asyncIterator]?: () => Rounds; [Symbol.iterator]?: () => Rounds }
    | null
    | undefined;
  const rounds = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
  if (rounds === undefined) throw batchResultError(returned, expected);
  return rounds;
}

/** Lets the handler clean up. What it throws then concerns nobody. */
async function stop(rounds: Rounds): Promise<void> {
  try {
    await rounds.return?.();
  } catch {
    return;
  }
}
