/**
 * Several threads, each with its own session of one model, behind one `run`.
 *
 * Guarantees: every `run` settles exactly once; a thread that dies rejects the run it had and is replaced, once at
 * once and then again when it is next needed; `close` waits for what was given to `run`.
 * Does not batch: a run goes to one thread as it is, and waits its turn while all are busy.
 */

import { ModelError } from "./errors.ts";
import { MEAN_READOUT, type Readout } from "./readout.ts";
import { SessionThread } from "./session-thread.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

export interface SessionPoolOptions {
  readonly modelPath: string;
  readonly workers: number;
  /** Threads inside one run. */
  readonly intraOpThreads?: number;
  /** How outputs become vectors. Default: as the graph pools them, else by the mean. */
  readonly readout?: Readout;
  /** The position of a text's first token. Default: 0. */
  readonly firstPosition?: number;
  /** Another module to run in the threads; tests put a misbehaving one here. */
  readonly workerUrl?: URL;
}

export class SessionPool {
  readonly #idle: SessionPlace[];
  readonly #places: readonly SessionPlace[];
  readonly #queue: ((place: SessionPlace) => void)[] = [];
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionPoolOptions) {
    this.#places = Array.from({ length: options.workers }, () => new SessionPlace(options));
    this.#idle = [...this.#places];
  }

  /** True while at least one thread has the model loaded. */
  get ready(): boolean {
    return this.#closing === undefined && this.#places.some((place) => place.loaded);
  }

  /** How many threads were started to replace dead ones. */
  get restarts(): number {
    return this.#places.reduce((sum, place) => sum + place.restarts, 0);
  }

  /** Loads the model in every thread; rejects, with all threads ended, when it cannot be loaded. */
  open(): Promise<void> {
    this.#opening ??= this.#openAll();
    return this.#opening;
  }

  async run(batch: TokenBatch): Promise<VectorBlock> {
    if (this.#closing !== undefined) throw new ModelError("MODEL_CLOSED", "The model is closed");
    const place = await this.#acquire();
    try {
      return await place.run(batch);
    } finally {
      this.#release(place);
    }
  }

  /** Finishes what was given to `run`, then ends the threads. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #openAll(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#places.map((place) => place.open()));
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure === undefined) return;
    await this.close();
    throw failure.reason;
  }

  #acquire(): Promise<SessionPlace> {
    const place = this.#idle.pop();
    if (place !== undefined) return Promise.resolve(place);
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  #release(place: SessionPlace): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#idle.push(place);
    else next(place);
  }

  /** Takes every place in turn, behind the runs that already wait, and ends its thread. */
  async #closeAll(): Promise<void> {
    await Promise.all(this.#places.map(async () => (await this.#acquire()).close()));
  }
}

/** One of the pool's places: the thread that is there now, or the way to get one. */
class SessionPlace {
  readonly #options: SessionPoolOptions;
  #thread: Promise<SessionThread> | undefined;
  #loaded = false;
  #closed = false;
  #starts = 0;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  get loaded(): boolean {
    return this.#loaded;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  open(): Promise<SessionThread> {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  async run(batch: TokenBatch): Promise<VectorBlock> {
    return (await this.open()).run(batch);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#loaded = false;
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.close();
  }

  async #start(): Promise<SessionThread> {
    this.#starts += 1;
    const { modelPath, intraOpThreads = 1, readout = MEAN_READOUT, firstPosition = 0, workerUrl } = this.#options;
    try {
      const thread = await SessionThread.start({ modelPath, intraOpThreads, readout, firstPosition }, workerUrl);
      this.#loaded = true;
      void thread.ended.then(() => this.#replace());
      return thread;
    } catch (error) {
      this.#thread = undefined;
      throw error;
    }
  }

  /** Starts the next thread at once; if that fails, the next run tries again and gets the error. */
  #replace(): void {
    this.#loaded = false;
    this.#thread = undefined;
    if (!this.#closed) this.open().catch(() => undefined);
  }
}
