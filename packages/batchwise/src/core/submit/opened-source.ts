// The source of a `map`: opened once, read one item at a time, and closed once if it has not ended.

import { ignoreFailure } from "../contract/thenable.ts";
import { aFunction, check, expected } from "../contract/validate.ts";

type Source = AsyncIterator<unknown, unknown> | Iterator<unknown, unknown>;

export class OpenedSource {
  readonly #source: Source;
  /** Its `next` is pending. */
  #isReading = false;
  #isOver = false;

  /**
   * Throws INVALID_OPTION for a value that is not iterable, and for a string, whose characters are
   * hardly meant.
   */
  constructor(source: unknown) {
    const given: object = typeof source === "object" && source !== null ? source : {};
    const { [Symbol.asyncIterator]: openAsync, [Symbol.iterator]: open } = given as Record<symbol, unknown>;
    const opener = openAsync ?? open;
    if (typeof opener !== "function") {
      throw expected("source", { type: "object", expected: "an iterable or an async iterable" }, source);
    }
    const iterator = Reflect.apply(opener, given, []) as Source;
    check("source.next", aFunction, iterator?.next);
    this.#source = iterator;
  }

  /** Its next step. Awaits a promise in a plain iterable, as `for await` does. */
  async next(): Promise<{ readonly done?: boolean; readonly value?: unknown }> {
    this.#isReading = true;
    let isOver = true;
    try {
      const step = await this.#source.next();
      isOver = step.done === true;
      return isOver ? { done: true } : { value: await step.value };
    } finally {
      this.#isReading = false;
      this.#isOver ||= isOver;
    }
  }

  /** Rejects with the error of its `return`. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const closed = Promise.resolve(this.#source.return?.());
    // A generator closes only after its pending `next`, which may never settle.
    if (this.#isReading) ignoreFailure(closed);
    else await closed;
  }
}
