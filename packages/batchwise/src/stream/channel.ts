// One caller's stream: at most one chunk waits in it, so whoever fills it has to wait for its reader. Chunks that were
// delivered before an end or an error are read before it.

/** What a channel tells the producer: that it may have room again, or that its reader has gone. */
export interface ChannelOwner {
  drained(): void;
  left(): void;
}

interface Reader<Chunk> {
  readonly resolve: (result: IteratorResult<Chunk, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class Channel<Chunk> implements AsyncIterableIterator<Chunk, undefined> {
  readonly #readers: Reader<Chunk>[] = [];
  readonly #chunks: Chunk[] = [];
  #owner: ChannelOwner | null;
  #error: { readonly reason: unknown } | null = null;
  #isOver = false;

  constructor(owner: ChannelOwner) {
    this.#owner = owner;
  }

  /** True until the stream has ended, failed, or lost its reader. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** True when a chunk would not have to wait behind another. */
  get hasRoom(): boolean {
    return this.#chunks.length === 0;
  }

  push(chunk: Chunk): void {
    if (this.#isOver) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#chunks.push(chunk);
    else reader.resolve({ done: false, value: chunk });
  }

  end(): void {
    this.#close();
    for (const reader of this.#readers.splice(0)) reader.resolve(END);
  }

  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#close();
    const [first, ...others] = this.#readers.splice(0);
    if (first === undefined) this.#error = { reason };
    else first.reject(reason);
    for (const reader of others) reader.resolve(END);
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
    if (this.#isOver) return Promise.resolve(END);
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
    });
  }

  /** The reader leaves: its part of the batch ends. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#chunks.length = 0;
    this.#error = null;
    const owner = this.#owner;
    this.end();
    owner?.left();
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #close(): void {
    this.#isOver = true;
    this.#owner = null;
  }
}
