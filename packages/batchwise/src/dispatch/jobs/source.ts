// The caller's requests, one after the other, whatever kind of iterable they come from. A read that takes long can be left
// and taken up again; closing never waits for one.

type Steps<Item> = Iterator<Item, unknown> | AsyncIterator<Item, unknown>;

export class Source<Item> {
  readonly #steps: Steps<Item>;
  #pending: Promise<IteratorResult<Item, unknown>> | null = null;
  isAtEnd = false;

  constructor(items: Iterable<Item> | AsyncIterable<Item>) {
    this.#steps = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  }

  /** The next item; null at the end, or when `patience` resolves first: then the item is the next call's. */
  async next(patience: Promise<void>): Promise<{ readonly item: Item } | null> {
    this.#pending ??= this.#step();
    const step = await Promise.race([this.#pending, patience]);
    if (step === undefined) return null;
    this.#pending = null;
    if (!step.done) return { item: step.value };
    this.isAtEnd = true;
    return null;
  }

  async #step(): Promise<IteratorResult<Item, unknown>> {
    try {
      return await this.#steps.next();
    } catch (error) {
      // What has thrown is closed.
      this.isAtEnd = true;
      throw error;
    }
  }

  /** Lets the source clean up, unless it came to its end. */
  async close(): Promise<void> {
    if (this.isAtEnd) return;
    const closing = Promise.resolve(this.#steps.return?.());
    closing.catch(() => {});
    this.#pending?.catch(() => {});
    // A generator that waits for something of its own would be closed only after that.
    if (this.#pending === null) await closing;
  }
}
