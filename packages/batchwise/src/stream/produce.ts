// Runs one streaming batch: asks the handler for a round, deals its places out to the callers' channels, and asks for
// the next only when every caller has taken its chunk. So a slow reader holds the producer, and memory stays at one
// chunk a caller. It does not end a handler that hangs: the batch's time limit gives its slot back.

import { isError, resultLength } from "../core/contract/errors.ts";
import type { BatchContext } from "../core/contract/types.ts";
import type { Channel } from "./channel.ts";
import { noRoundsError, roundError } from "./errors.ts";
import { DONE, SKIP } from "./marks.ts";
import type { Audience, StreamItem } from "./stream-item.ts";

type Rounds = AsyncIterator<unknown> | Iterator<unknown>;

/** What went wrong. An object of its own, for what is thrown may be undefined. */
interface Failure {
  readonly error: unknown;
}

/** How one place of a round left its caller's stream. */
type Dealt = "open" | "ended" | Failure;

/** A caller's place in the batch, as the engine waits for it. Only the first call of either counts. */
interface Place {
  resolve(): void;
  reject(error: unknown): void;
}

export class Production<Item, Chunk> implements Audience {
  readonly #items: readonly StreamItem<Item, Chunk>[];
  readonly #signal: AbortSignal;
  readonly #places: Place[] = [];
  /** Callers who ended with the last round: settled when the handler has stopped, for until then it holds its slot. */
  #last: (() => void)[] = [];
  /** Callers whose streams are open, and how many of them have a chunk to read. */
  #open: number;
  #full = 0;
  #wake: () => void = () => {};

  constructor(items: readonly StreamItem<Item, Chunk>[], context: BatchContext) {
    this.#items = items;
    this.#open = items.filter(({ channel }) => channel.isOpen).length;
    this.#signal = context.signal;
  }

  /** Starts. One promise a caller: settled when the caller's stream has ended, the last one when the handler has. */
  start(open: () => unknown): Promise<void>[] {
    const places = this.#items.map((item) => {
      item.joins(this);
      const place = new Promise<void>((resolve, reject) => {
        this.#places.push({ resolve, reject });
      });
      // Nobody waits for the places of a batch that was closed while it started.
      place.catch(() => {});
      return place;
    });
    this.#signal.addEventListener("abort", this.#aborted);
    this.#run(open).then(
      () => this.#end(null),
      (error: unknown) => this.#end({ error }),
    );
    return places;
  }

  drained(): void {
    this.#full -= 1;
    if (this.#full === 0) this.#wake();
  }

  closed(wasFull: boolean): void {
    this.#open -= 1;
    if (wasFull) this.#full -= 1;
    if (this.#full === 0) this.#wake();
  }

  readonly #aborted = (): void => this.#wake();

  async #run(open: () => unknown): Promise<void> {
    const rounds = roundsOf(await open());
    for (;;) {
      while (this.#full > 0 && !this.#signal.aborted) await this.#change();
      if (this.#open === 0 || this.#signal.aborted) return stop(rounds);
      const round = await rounds.next();
      if (round.done === true) return;
      try {
        this.#deal(round.value);
      } catch (error) {
        for (const { channel } of this.#items) channel.fail(error);
        await stop(rounds);
        throw error;
      }
    }
  }

  /** Resolves when every caller has read its chunk, or the batch was aborted. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #deal(round: unknown): void {
    if (resultLength(round) !== this.#items.length) throw roundError(round, this.#items.length);
    const ended: (() => void)[] = [];
    this.#items.forEach(({ channel }, index) => {
      if (!channel.isOpen) return;
      const dealt = deal(channel, round as ArrayLike<unknown>, index);
      if (dealt !== "open") ended.push(() => this.#settle(index, dealt === "ended" ? null : dealt));
      else if (!channel.hasRoom) this.#full += 1;
    });
    if (this.#open === 0) this.#last = ended;
    else for (const settle of ended) settle();
  }

  #settle(index: number, failure: Failure | null): void {
    if (failure === null) this.#places[index]?.resolve();
    else this.#places[index]?.reject(failure.error);
  }

  /** The handler has stopped. After an abort the engine has answered its callers, and their streams end by that. */
  #end(failure: Failure | null): void {
    this.#signal.removeEventListener("abort", this.#aborted);
    for (const settle of this.#last) settle();
    this.#items.forEach(({ channel }, index) => {
      this.#settle(index, failure);
      if (this.#signal.aborted) return;
      if (failure === null) channel.end();
      else channel.fail(failure.error);
    });
  }
}

/** Hands one place of a round to its caller. An Error, or a place that cannot be read, concerns that caller alone. */
function deal<Chunk>(channel: Channel<Chunk>, round: ArrayLike<unknown>, index: number): Dealt {
  let place: unknown;
  try {
    place = round[index];
    if (isError(place)) throw place;
  } catch (error) {
    channel.fail(error);
    return { error };
  }
  if (place === DONE) {
    channel.end();
    return "ended";
  }
  if (place !== SKIP) channel.push(place as Chunk);
  return "open";
}

function roundsOf(returned: unknown): Rounds {
  const source = returned as { [Symbol.asyncIterator]?(): Rounds; [Symbol.iterator]?(): Rounds } | null | undefined;
  const rounds = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
  if (typeof rounds?.next !== "function") throw noRoundsError(returned);
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
