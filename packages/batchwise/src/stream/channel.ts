// One caller's stream. It buffers chunks until the caller reads them, and calls its owner when the
// caller reads, ends or leaves. Chunks that came before an end or an error are read before it. When
// a caller leaves, its unread chunks are dropped. The channel sets no limit: its owner stops
// filling it while it is behind.

import { ignoreIfPromise } from "../core/contract/thenable.ts";

/** Callbacks of the owner, which fills the channel. After `closed`, only `left` is called. */
export interface ChannelOwner {
  /** The caller was behind and has caught up. */
  caughtUp(): void;
  /** The caller starts to wait for a chunk. */
  waits(): void;
  /**
   * The stream has ended, failed, or lost its reader. Called once. `wasBehind`: the caller was
   * behind.
   */
  closed(wasBehind: boolean): void;
  /** The reader left before the end. Called after `closed`. */
  left(): void;
}

interface Reader<Chunk> {
  readonly resolve: (result: IteratorResult<Chunk, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const END: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });

/** Read chunks are removed from the list when they are half of it, and at least this many. */
const CUT_FROM = 1024;

export class Channel<Chunk> implements AsyncIterableIterator<Chunk, undefined> {
  readonly #maxUnread: number;
  readonly #readers: Reader<Chunk>[] = [];
  #chunks: Chunk[] = [];
  /** Index of the first unread chunk. */
  #first = 0;
  #owner: ChannelOwner | null;
  #error: { readonly reason: unknown } | null = null;

  constructor(owner: ChannelOwner, maxUnread: number) {
    this.#owner = owner;
    this.#maxUnread = maxUnread;
  }

  /** True while more than `maxUnread` chunks wait for the caller. */
  get isBehind(): boolean {
    return this.#unread() > this.#maxUnread;
  }

  /** True while the caller waits for a chunk. */
  get isAwaited(): boolean {
    return this.#readers.length > 0;
  }

  push(chunk: Chunk): void {
    if (this.#owner === null) {
      ignoreIfPromise(chunk);
      return;
    }
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader.resolve({ done: false, value: chunk });
      return;
    }
    // A promise may reject before the reader gets it. The reader still sees the rejection.
    ignoreIfPromise(chunk);
    this.#chunks.push(chunk);
  }

  end(): void {
    const owner = this.#owner;
    this.#owner = null;
    owner?.closed(this.isBehind);
    for (const reader of this.#readers.splice(0)) reader.resolve(END);
  }

  /** One reader gets the error; later reads see the end of the stream. */
  fail(reason: unknown): void {
    if (this.#owner === null) return;
    const first = this.#readers.shift();
    if (first === undefined) this.#error = { reason };
    else first.reject(reason);
    this.end();
  }

  next(): Promise<IteratorResult<Chunk, undefined>> {
    if (this.#unread() > 0) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#error !== null) {
      const { reason } = this.#error;
      this.#error = null;
      return Promise.reject(reason);
    }
    if (this.#owner === null) return Promise.resolve(END);
    return new Promise((resolve, reject) => {
      if (this.#readers.push({ resolve, reject }) === 1) this.#owner?.waits();
    });
  }

  /**
   * Called when the reader leaves: its part of the batch ends, and its unread chunks are dropped.
   */
  return(): Promise<IteratorReturnResult<undefined>> {
    const owner = this.#owner;
    this.end();
    for (const chunk of this.#chunks.slice(this.#first)) ignoreIfPromise(chunk);
    this.#chunks = [];
    this.#first = 0;
    this.#error = null;
    owner?.left();
    return Promise.resolve(END);
  }

  /** Leaves, as a generator does that does not catch the error. */
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

  #unread(): number {
    return this.#chunks.length - this.#first;
  }

  #take(): Chunk {
    const { isBehind } = this;
    const chunk = this.#chunks[this.#first] as Chunk;
    this.#chunks[this.#first] = undefined as never;
    this.#first += 1;
    const { length } = this.#chunks;
    if (this.#first === length || (this.#first >= CUT_FROM && this.#first * 2 >= length)) {
      this.#chunks.splice(0, this.#first);
      this.#first = 0;
    }
    if (isBehind && !this.isBehind) this.#owner?.caughtUp();
    return chunk;
  }
}
