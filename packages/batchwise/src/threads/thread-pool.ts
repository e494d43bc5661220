// Several threads with one handler, behind one `run`.
//
// Guarantees: every run settles exactly once. If a thread dies, its run fails and the thread is
// replaced: at once if it had answered before, else when it is needed. `close` waits for all runs.
// Does not batch: each run goes to one thread unchanged, and waits while all are busy.

import { closedError, NO_NAME, namelessError } from "../core/contract/errors.ts";
import type { BatchContext, Places } from "../core/contract/types.ts";
import { HandlerThread, type HandlerThreadOptions } from "./handler-thread.ts";

type Turn = (place: ThreadPlace) => void;

export class ThreadPool {
  readonly #places: readonly ThreadPlace[];
  readonly #idle: ThreadPlace[];
  readonly #queue: Set<Turn> = new Set();
  #closing: Promise<void> | undefined;

  constructor(workers: number, options: HandlerThreadOptions) {
    this.#places = Array.from({ length: workers }, () => new ThreadPlace(options));
    this.#idle = [...this.#places];
  }

  /** True while at least one thread has loaded its module, until `close`. */
  get ready(): boolean {
    return this.#closing === undefined && this.#places.some((place) => place.isLoaded);
  }

  /** Number of threads that were started to replace dead ones. */
  get restarts(): number {
    return this.#places.reduce((sum, place) => sum + place.restarts, 0);
  }

  /** Starts every thread. If one cannot load the module, ends all of them and rejects. */
  async open(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#places.map((place) => place.open()));
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure === undefined) return;
    await this.close().catch(() => {});
    throw failure.reason;
  }

  async run(items: readonly unknown[], context: BatchContext): Promise<Places<unknown>> {
    if (this.#closing !== undefined) throw namelessError(closedError(NO_NAME));
    const place = this.#idle.pop() ?? (await this.#turn(context.signal));
    try {
      return await place.run(items, context);
    } finally {
      this.#release(place);
    }
  }

  /**
   * Finishes all runs, then closes the handlers and ends the threads. Rejects if a `close` failed.
   */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const closing = this.#places.map(async () => (this.#idle.pop() ?? (await this.#turn())).close());
    const outcomes = await Promise.allSettled(closing);
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  /** Resolves when a thread is free. Rejects if the signal aborts first. */
  #turn(signal?: AbortSignal): Promise<ThreadPlace> {
    return new Promise((resolve, reject) => {
      const take: Turn = (place) => {
        signal?.removeEventListener("abort", leave);
        resolve(place);
      };
      const leave = (): void => {
        this.#queue.delete(take);
        reject(signal?.reason);
      };
      if (signal?.aborted) throw signal.reason;
      this.#queue.add(take);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #release(place: ThreadPlace): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#idle.push(place);
      return;
    }
    this.#queue.delete(next);
    next(place);
  }
}

/** One of the pool's places: its current thread, or the means to start one. */
class ThreadPlace {
  readonly #options: HandlerThreadOptions;
  #thread: Promise<HandlerThread> | undefined;
  /** The thread while it loads. */
  #loading: HandlerThread | undefined;
  #isLoaded = false;
  #isClosed = false;
  #starts = 0;

  constructor(options: HandlerThreadOptions) {
    this.#options = options;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  open(): Promise<HandlerThread> {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  async run(items: readonly unknown[], context: BatchContext): Promise<Places<unknown>> {
    const { signal } = context;
    const giveUp = (): void => this.#loading?.terminateLater();
    signal.addEventListener("abort", giveUp);
    try {
      return await (await this.open()).run(items, context);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#loading?.terminateLater();
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.close();
  }

  async #start(): Promise<HandlerThread> {
    this.#starts += 1;
    try {
      const thread = new HandlerThread(this.#options);
      this.#loading = thread;
      await thread.load(this.#options);
      this.#isLoaded = true;
      void thread.ended.then(() => this.#replace(thread.hasAnswered));
      return thread;
    } catch (error) {
      this.#thread = undefined;
      throw error;
    } finally {
      this.#loading = undefined;
    }
  }

  #replace(isAtOnce: boolean): void {
    this.#isLoaded = false;
    this.#thread = undefined;
    // If that fails, the next run tries again and gets the error.
    if (isAtOnce && !this.#isClosed) this.open().catch(() => {});
  }
}
