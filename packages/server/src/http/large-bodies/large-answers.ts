/**
 * Sends large answers piece by piece, as fast as their readers take them.
 *
 * Guarantees: a piece is made only when there is room for it, and when the connection's earlier
 * answers are sent. A reader that then takes nothing for `stallMs` is disconnected. Work for other
 * requests is refused while the answers being read hold `maxBytes`.
 */

import { answersFull } from "../errors.ts";
import type { Exchange } from "../requests/exchange.ts";
import { nextSlice, sliceIsOver } from "./time-slices.ts";

export interface LargeAnswer {
  readonly pieces: Iterable<string>;
  /** The memory that it holds until it is read. */
  readonly bytes: number;
  readonly exchange: Exchange;
}

export class LargeAnswers {
  readonly #maxBytes: number;
  readonly #stallMs: number;
  #held = 0;

  constructor(maxBytes: number, stallMs: number) {
    this.#maxBytes = maxBytes;
    this.#stallMs = stallMs;
  }

  get hasRoom(): boolean {
    return this.#held < this.#maxBytes;
  }

  /** Throws 503 if there is no room for another large answer. */
  checkRoom(): void {
    if (!this.hasRoom) throw answersFull(this.#maxBytes);
  }

  send({ pieces, bytes, exchange }: LargeAnswer): ReadableStream<Uint8Array<ArrayBuffer>> {
    const iterator = pieces[Symbol.iterator]();
    const encoder = new TextEncoder();
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    this.#held += bytes;
    const end = (): void => {
      clearTimeout(timer);
      if (!isOver) this.#held -= bytes;
      isOver = true;
    };
    return new ReadableStream(
      {
        pull: async (controller) => {
          clearTimeout(timer);
          if (!exchange.hasTurn) await exchange.turn();
          if (sliceIsOver()) await nextSlice();
          // The reader may have left meanwhile.
          if (isOver) return;
          const value = pieceOf(iterator, end);
          if (value === undefined) {
            controller.close();
            return;
          }
          controller.enqueue(encoder.encode(value));
          // The next piece is requested when this one is being sent.
          timer = setTimeout(() => exchange.cut(), this.#stallMs);
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    );
  }
}

/** The next piece; undefined after the last one, when `end` has been called. */
function pieceOf(iterator: Iterator<string>, end: () => void): string | undefined {
  try {
    const { done, value } = iterator.next();
    if (done !== true) return value;
  } catch (error) {
    end();
    throw error;
  }
  end();
  return undefined;
}
