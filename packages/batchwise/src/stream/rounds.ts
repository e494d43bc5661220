// The rounds that a handler gives: finds their iterator, asks for the next round, stops it. Async
// and sync iterables are read alike. What is no source of rounds, or no round, is BATCH_RESULT.

import { resultLength } from "../core/contract/errors.ts";
import { noRoundsError, noStepError, roundError } from "./errors.ts";
import { ignoreRejections } from "./ignore.ts";

type RoundIterator = AsyncIterator<unknown> | Iterator<unknown>;

interface Source {
  [Symbol.asyncIterator]?(): RoundIterator;
  [Symbol.iterator]?(): RoundIterator;
}

export class Rounds {
  readonly #iterator: RoundIterator;
  readonly #size: number;
  /** What the handler returned, where that is an array, as handlers that do not stream return. */
  readonly #list: unknown;

  /** `size`: places in a round. Throws BATCH_RESULT, or what the handler's own iterable throws. */
  constructor(returned: unknown, size: number) {
    const source = typeof returned === "string" ? undefined : (returned as Source | null | undefined);
    const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.();
    if (typeof iterator?.next !== "function") throw noRoundsError(returned);
    this.#iterator = iterator;
    this.#size = size;
    this.#list = resultLength(returned) === undefined ? undefined : returned;
  }

  /** The next step of the iterator. Throws what the handler throws. */
  async next(): Promise<IteratorResult<unknown>> {
    const step: unknown = await this.#iterator.next();
    if (typeof step !== "object" || step === null) throw noStepError(step);
    return step as IteratorResult<unknown>;
  }

  /** Throws BATCH_RESULT unless this is an array with one place per item. */
  check(round: unknown): asserts round is ArrayLike<unknown> {
    if (resultLength(round) === this.#size) return;
    ignoreRejections(round);
    ignoreRejections(this.#list);
    throw roundError(round, this.#size, this.#list !== undefined);
  }

  /** Lets the handler clean up. What it throws then is ignored: every caller has been answered. */
  async stop(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch {
      return;
    }
  }
}
