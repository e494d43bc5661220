// One caller's stream: at most one chunk waits in it, so whoever fills it has to wait for its reader. Chunks that were
// delivered before an end or an error are read before it. It knows nothing of batches; its owner is told what happens.

/** Who fills a channel. Told nothing more once the stream is over. */
export interface ChannelOwner {
  /** The chunk that waited was read: there is room again. */
  drained(): void;
  /** The stream is over, for whatever reason. `wasFull`: a chunk waited in it. */
  closed(wasFull: boolean): void;
  /** The reader went before the end. Comes after `closed`. */
  left(): void;
}

interface Reader<Chunk> {
  readonly resolve: (result: IteratorResult<Chunk, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const END: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });

export class Channel<Chunk> implements AsyncIterableIterator<Chunk, undefined> {
  readonly #readers: Reader<Chunk>[] = [];
  readonly #chunks: Chunk[] = [];
  #owner: ChannelOwner | null;
  #error: { readonly reason: unknown } | null = null;

  constructor(owner: ChannelOwner) {
    this.#owner = owner;
  }

  /** True until the stream has ended, failed, or lost its reader. */
  get isOpen(): boolean {
    return this.#owner !== null;
  }

  /** True when a chunk would not have to wait behind another. */
  get hasRoom(): boolean {
    return this.#chunks.length === 0;
  }

  push(chunk: Chunk): void {
    if (this.#owner === null) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#chunks.push(chunk);
    else reader.resolve({ done: false, value: chunk });
  }

  end(): void {
    this.#close();
    for (const reader of this.#readers.splice(0)) reader.resolve(END);
  }

  /** One reader gets the error; for all others the stream has ended. */
  fail(reason: unknown): void {
    if (this.#owner === null) return;
    const first = this.#readers.shift();
    if (first === undefined) this.#error = { reason };
    else first.reject(reason);
    this.end();
  }

  next(): Promise<IteratorResult<Chunk, undefined>> {
    if (this.#chunks.length > 0) {
      const value = this.#chunks.shift() as Chunk;
      this.#owner?.drained();
      return Promise.resolve({ done: false, value });
    }
    if (this.#error !== null) {
      const { reason } = this.#error;
      this.#error = null;
      return Promise.reject(reason);
    }
    if (this.#owner === null) return Promise.resolve(END);
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
    });
  }

  /** The reader leaves: its part of the batch ends, and what it has not read is dropped. */
  return(): Promise<IteratorReturnResult<undefined>> {
    const owner = this.#owner;
    this.end();
    this.#chunks.length = 0;
    this.#error = null;
    owner?.left();
    return Promise.resolve(END);
  }

  /** Leaves, as a generator that does not catch the error would. */
  throw(error?: unknown): Promise<never> {
    void this.return();
    return Promise.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #close(): void {
    const owner = this.#owner;
    this.#owner = null;
    owner?.closed(this.#chunks.length > 0);
  }
}
