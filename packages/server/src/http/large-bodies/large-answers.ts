/**
 * Sends large answers piece by piece, as fast as their readers take them.
 *
 * Guarantees: no piece is made before there is room for it, nor before the earlier answers of its
 * connection are sent; a reader that then takes no piece for `stallMs` is cut off; work for other
 * requests is refused while the answers that are being read hold `maxBytes`.
 */

import { answersFull } from "../errors.ts";
import type { Exchange } from "../requests/exchange.ts";
import { nextSlice, sliceIsOver } from "./time-slices.ts";

export interface LargeAnswer {
  readonly pieces: Iterable<string>;
  /** What it holds until it is read. */
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

  /** Throws 503 while there is no room for another large answer. */
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
          // The reader may have left in the meantime.
          if (isOver) return;
          const value = pieceOf(iterator, end);
          if (value === undefined) {
            controller.close();
            return;
          }
          controller.enqueue(encoder.encode(value));
          // The next piece is asked for once this one is on its way.
          timer = setTimeout(() => exchange.cut(), this.#stallMs);
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    );
  }
}

/** The next piece; undefined, with the end told, where there is none. */
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
