// Runs one streaming batch: requests a round from the handler, gives each caller its place, and
// requests the next round while no caller is behind, that is, has more than `maxBufferedChunks`
// unread chunks. So a slow reader holds the handler back, and memory stays bounded. A reader for
// whom others have waited too long is ended (stall.ts). A handler that hangs is not ended here: the
// batch's time limit frees its slot.

import { nameError } from "../core/contract/errors.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { ignorePlace } from "../core/run/places.ts";
import { deliver, type Failure } from "./deliver.ts";
import { stalledError } from "./errors.ts";
import { Rounds } from "./rounds.ts";
import { Stall, type StallServices } from "./stall.ts";
import type { StreamBatch, StreamItem } from "./stream-item.ts";

/** Time in ms after which a batch that waits for its readers warns. */
const WARN_AFTER_MS = 1000;

/** Services shared by all batches of one stream function. */
export interface ProducerServices extends StallServices {
  /** The batcher's name, for errors. */
  readonly name: string;
  readonly maxBufferedChunks: number;
  /** Reports a batch that waits for its readers. */
  warn(message: string): void;
}

/**
 * Settles a caller's place in the answer to the engine. Only the first call of either method
 * counts.
 */
interface Place {
  resolve(): void;
  reject(error: unknown): void;
}

export class Producer<Item, Chunk> implements StreamBatch {
  readonly #items: readonly StreamItem<Item, Chunk>[];
  readonly #context: BatchContext;
  readonly #services: ProducerServices;
  readonly #signal: AbortSignal;
  readonly #places: Place[] = [];
  /** Settles the last caller when the handler has stopped; until then the batch holds its slot. */
  #settleLast: () => void = () => {};
  /** Number of callers with open streams, and how many of them are behind. */
  #open: number;
  #behind = 0;
  #hasWarned = false;
  /** Set while the batch has waited long for its readers; null otherwise. */
  #stall: Stall | null = null;
  #wake: () => void = () => {};

  constructor(items: readonly StreamItem<Item, Chunk>[], context: BatchContext, services: ProducerServices) {
    this.#items = items;
    this.#context = context;
    this.#services = services;
    this.#open = items.filter(({ channel }) => channel !== null).length;
    this.#signal = context.signal;
  }

  /**
   * Starts. Returns one promise per caller, settled when the caller's stream has ended; the last
   * one settles when the handler has stopped.
   */
  start(callHandler: () => unknown): Promise<void>[] {
    const places = this.#items.map((item) => {
      item.batch = this;
      const place = new Promise<void>((resolve, reject) => {
        this.#places.push({ resolve, reject });
      });
      // If the batch was closed while it started, its places have no readers.
      place.catch(() => {});
      return place;
    });
    this.#signal.addEventListener("abort", this.#aborted);
    this.#run(callHandler).then(
      () => this.#end(null),
      (error: unknown) => {
        nameError(error, this.#services.name);
        this.#end({ error });
      },
    );
    return places;
  }

  caughtUp(): void {
    this.#behind -= 1;
    if (this.#behind === 0) this.#wake();
  }

  waits(item: Pick<StreamItem<Item, Chunk>, "waitsSince">): void {
    if (this.#stall === null) return;
    item.waitsSince = this.#services.clock.now();
    this.#stall.look();
  }

  closed(wasBehind: boolean): void {
    this.#open -= 1;
    if (wasBehind) this.#behind -= 1;
    if (this.#behind === 0) this.#wake();
  }

  readonly #aborted = (): void => this.#wake();

  async #run(callHandler: () => unknown): Promise<void> {
    const rounds: Rounds = new Rounds(await callHandler(), this.#items.length);
    for (;;) {
      if (this.#mustWait()) await this.#waitForReaders();
      if (this.#open === 0 || this.#signal.aborted) return rounds.stop();
      const step = await rounds.next();
      if (step.done === true) return;
      try {
        const round: unknown = step.value;
        rounds.check(round);
        this.#deliver(round);
      } catch (error) {
        nameError(error, this.#services.name);
        for (const { channel } of this.#items) channel?.fail(error);
        await rounds.stop();
        throw error;
      }
    }
  }

  #mustWait(): boolean {
    return this.#behind > 0 && !this.#signal.aborted;
  }

  /**
   * Resolves when no caller is behind, or the batch is aborted. A batch that waits long warns once.
   */
  async #waitForReaders(): Promise<void> {
    const { clock, maxStallMs } = this.#services;
    const since = clock.now();
    let isOverdue = false;
    const timer =
      this.#hasWarned && maxStallMs === Infinity
        ? undefined
        : clock.setTimeout(
            () => {
              isOverdue = true;
              this.#wake();
            },
            Math.min(WARN_AFTER_MS, maxStallMs),
          );
    while (this.#mustWait()) {
      // A listener may read or leave, so check again before the next wait.
      if (isOverdue && !this.#hasWarned) this.#warn(clock.now() - since);
      else if (isOverdue && this.#stall === null)
        this.#stall = new Stall(this.#services, since, this.#items, () => this.#endStalled());
      else await this.#change();
    }
    if (timer !== undefined && !isOverdue) clock.clearTimeout(timer);
    this.#stall?.over();
    this.#stall = null;
  }

  /**
   * Ends the streams of callers who are behind. They read their buffered chunks, and then the
   * error.
   */
  #endStalled(): void {
    const { name, maxStallMs, maxBufferedChunks } = this.#services;
    const settles: (() => void)[] = [];
    this.#items.forEach(({ channel }, index) => {
      if (channel === null || !channel.isBehind) return;
      const error = stalledError(maxStallMs, maxBufferedChunks);
      nameError(error, name);
      channel.fail(error);
      settles.push(() => this.#settle(index, { error }));
    });
    this.#settleAll(settles);
  }

  /** Resolves on an event that may end the wait. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #warn(waitedMs: number): void {
    this.#hasWarned = true;
    const { maxBufferedChunks } = this.#services;
    const readers = this.#behind === 1 ? "a caller who does not read" : `${this.#behind} callers who do not read`;
    this.#services.warn(
      `Batch ${this.#context.id} has waited ${Math.round(waitedMs)} ms for ${readers}; all its streams wait with it. ` +
        "Read the streams of a batch concurrently, not one after the other, " +
        `or raise maxBufferedChunks (${maxBufferedChunks}).`,
    );
  }

  /**
   * Gives every caller its place. A caller whose stream ends is settled at once, except the batch's
   * last.
   */
  #deliver(round: ArrayLike<unknown>): void {
    const settles: (() => void)[] = [];
    this.#items.forEach(({ channel }, index) => {
      if (channel === null) {
        ignorePlace(round, index);
        return;
      }
      const delivered = deliver(channel, round, index, this.#services.name);
      if (delivered !== "open") settles.push(() => this.#settle(index, delivered === "ended" ? null : delivered));
      else if (channel.isBehind) this.#behind += 1;
    });
    this.#settleAll(settles);
  }

  #settleAll(settles: (() => void)[]): void {
    if (this.#open === 0) this.#settleLast = settles.pop() ?? this.#settleLast;
    for (const settle of settles) settle();
  }

  #settle(index: number, failure: Failure | null): void {
    if (failure === null) this.#places[index]?.resolve();
    else this.#places[index]?.reject(failure.error);
  }

  /**
   * The handler has stopped. After an abort the engine has answered the callers, which ends their
   * streams.
   */
  #end(failure: Failure | null): void {
    this.#signal.removeEventListener("abort", this.#aborted);
    this.#settleLast();
    this.#items.forEach(({ channel }, index) => {
      this.#settle(index, failure);
      if (this.#signal.aborted) return;
      if (failure === null) channel?.end();
      else channel?.fail(failure.error);
    });
  }
}
