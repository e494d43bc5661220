// Reads a handler's rounds: finds the iterator, requests rounds, stops it. Treats async and sync
// iterables alike. A value that is not a source of rounds, or not a round, is BATCH_RESULT.

import { resultLength } from "../core/contract/errors.ts";
import { ignorePlaces } from "../core/run/places.ts";
import { noRoundsError, noStepError, roundError } from "./errors.ts";

type RoundIterator = AsyncIterator<unknown> | Iterator<unknown>;

interface Source {
  [Symbol.asyncIterator]?(): RoundIterator;
  [Symbol.iterator]?(): RoundIterator;
}

export class Rounds {
  readonly #iterator: RoundIterator;
  readonly #size: number;
  /** The handler's return value if it is an array, as from a handler that does not stream. */
  readonly #list: unknown;

  /** `size`: places in a round. Throws BATCH_RESULT, or the error of the handler's own iterable. */
  constructor(returned: unknown, size: number) {
    const source = typeof returned === "string" ? undefined : (returned as Source | null | undefined);
    const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
    if (typeof iterator?.next !== "function") throw noRoundsError(returned);
    this.#iterator = iterator;
    this.#size = size;
    this.#list = resultLength(returned) === undefined ? undefined : returned;
  }

  /** The iterator's next result. Throws the handler's error. */
  async next(): Promise<IteratorResult<unknown>> {
    const step: unknown = await this.#iterator.next();
    if (typeof step !== "object" || step === null) throw noStepError(step);
    return step as IteratorResult<unknown>;
  }

  /** Throws BATCH_RESULT unless this is an array with one place per item. */
  check(round: unknown): asserts round is ArrayLike<unknown> {
    if (resultLength(round) === this.#size) return;
    ignorePlaces(round);
    ignorePlaces(this.#list);
    throw roundError(round, this.#size, this.#list !== undefined);
  }

  /** Lets the handler clean up. An error thrown then is ignored: every caller has been answered. */
  async stop(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch {
      return;
    }
  }
}
