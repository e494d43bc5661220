// One worker thread with the user's handler, seen from the batcher's side.
//
// Guarantees: a run settles exactly once, with its own answer, even if the thread dies or the
// module sends messages of its own. Errors keep class, code and message. The thread keeps the
// process alive only while it loads, runs or closes. It is terminated only if the user allows it;
// otherwise it gets a message to end, because ending a thread inside native code can abort the
// whole process.

import { Worker, type WorkerOptions } from "node:worker_threads";
import { BatchwiseError, namelessError } from "../core/contract/errors.ts";
import type { BatchContext, Places } from "../core/contract/types.ts";
import { decodeReason, type EncodedReason } from "./encode-reason.ts";
import { threadEndedError } from "./errors.ts";
import { fileBeside } from "./file-beside.ts";
import { post } from "./pack.ts";
import { type SentBatch, sendBatch } from "./plain-batch.ts";
import { type Answer, type FromThread, type PlainPlaces, type ToThread, UNREADABLE } from "./thread-protocol.ts";

export interface HandlerThreadOptions {
  readonly url: string;
  /** True: buffers that an item owns whole are transferred, and are empty here afterwards. */
  readonly movesItems: boolean;
  readonly movesResults: boolean;
  readonly terminateAfterMs: number;
  /** A run that takes longer ends the thread and rejects with THREAD_ENDED. Default: no limit. */
  readonly maxRunMs?: number;
  readonly workerOptions: WorkerOptions;
}

interface Task {
  readonly name: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

const HERE: string = import.meta.url;

export class HandlerThread {
  readonly #worker: Worker;
  readonly #terminateAfterMs: number;
  readonly #maxRunMs: number | undefined;
  readonly #movesItems: boolean;
  /** The current task: loading, a run, or closing. */
  #task: Task | undefined;
  #tasks = 0;
  #exitCode: number | undefined;
  #failure: unknown;
  #answered = false;
  #killer: ReturnType<typeof setTimeout> | undefined;
  readonly ended: Promise<void>;

  constructor({ terminateAfterMs, maxRunMs, movesItems, workerOptions }: HandlerThreadOptions) {
    this.#terminateAfterMs = terminateAfterMs;
    this.#maxRunMs = maxRunMs;
    this.#movesItems = movesItems;
    this.#worker = new Worker(fileBeside(HERE, "handler-worker"), { name: "batchwise-handler", ...workerOptions });
    this.#worker.on("message", (answer: FromThread | null | undefined) => {
      // Any other message is the module's own, or late.
      if (answer?.task === undefined) return;
      if (answer.task === this.#task?.name || answer.task === UNREADABLE) this.#take()?.resolve(answer);
    });
    this.#worker.on("messageerror", (error: Error) => {
      this.#take()?.reject(error);
    });
    this.#worker.on("error", (error: unknown) => {
      this.#failure = error;
    });
    this.ended = new Promise((resolve) => {
      this.#worker.once("exit", (code: number) => {
        this.#exitCode = code;
        // First, so that a caller who retries after the failure finds a new thread.
        resolve();
        this.#take()?.reject(threadEndedError(code, this.#failure));
      });
    });
  }

  /** True after the first run: a thread that dies before it would die again when restarted. */
  get hasAnswered(): boolean {
    return this.#answered;
  }

  /** Loads the module and opens its handler. If that fails, ends the thread and rejects. */
  async load({ url, movesResults }: HandlerThreadOptions): Promise<void> {
    const answer = await this.#ask((task) => this.#post({ type: "load", task, url, movesResults }));
    clearTimeout(this.#killer);
    if (answer.type !== "refused") return;
    await this.#end();
    throw thrownThere(answer.error);
  }

  async run(items: readonly unknown[], context: BatchContext): Promise<Places<unknown>> {
    let sent: SentBatch | undefined;
    const { signal } = context;
    // The signal may have aborted while the thread started.
    if (signal.aborted) throw signal.reason;
    const stop = (): void => this.#abort();
    const limit = this.#limitRun();
    try {
      const answer = await this.#ask((task) => {
        const send = (message: ToThread, transfer: readonly ArrayBuffer[]): void => this.#post(message, transfer);
        sent = sendBatch({ task, items, context, moves: this.#movesItems }, send);
        if (sent.indexes?.length === 0) this.#take()?.resolve({ type: "done", values: [], errors: [] });
        else signal.addEventListener("abort", stop);
      });
      this.#answered = true;
      if (answer.type === "done") return placesOf(answer, sent as unknown as SentBatch, items.length);
      throw thrownThere((answer as Extract<Answer, { type: "failed" }>).error);
    } finally {
      signal.removeEventListener("abort", stop);
      clearTimeout(this.#killer);
      clearTimeout(limit);
    }
  }

  #limitRun(): ReturnType<typeof setTimeout> | undefined {
    const maxRunMs = this.#maxRunMs;
    if (maxRunMs === undefined) return undefined;
    return setTimeout(() => {
      this.#failure = new Error(`it took more than ${maxRunMs} ms`);
      void this.#worker.terminate();
    }, maxRunMs);
  }

  /**
   * Closes the handler and ends the thread. If the handler's `close` fails, ends the thread and
   * rejects.
   */
  async close(): Promise<void> {
    if (this.#exitCode !== undefined) return;
    const closing = this.#ask((task) => this.#post({ type: "close", task })).catch(() => undefined);
    this.terminateLater();
    const answer = await closing;
    await this.#end();
    clearTimeout(this.#killer);
    if (answer?.type === "closeFailed") throw thrownThere(answer.error);
  }

  /** Waits for the thread's end, and keeps the process alive until then. */
  #end(): Promise<void> {
    this.#worker.ref();
    return this.ended;
  }

  #abort(): void {
    this.#post({ type: "abort" });
    this.terminateLater();
  }

  /**
   * Terminates the thread after `terminateAfterMs`, unless its task ends before. Only if the user
   * has allowed it.
   */
  terminateLater(): void {
    clearTimeout(this.#killer);
    if (this.#terminateAfterMs === Number.POSITIVE_INFINITY) return;
    this.#killer = setTimeout(() => void this.#worker.terminate(), this.#terminateAfterMs);
  }

  #ask(send: (task: string) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#exitCode !== undefined) throw threadEndedError(this.#exitCode, this.#failure);
      this.#tasks += 1;
      const name = `batchwise:${this.#tasks}`;
      this.#task = { name, resolve, reject };
      this.#worker.ref();
      try {
        send(name);
      } catch (error) {
        this.#take();
        throw error;
      }
    });
  }

  #take(): Task | undefined {
    const task = this.#task;
    this.#task = undefined;
    this.#worker.unref();
    return task;
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    post(this.#worker, message, transfer);
  }
}

/**
 * The thread's answer, with its errors, and the errors of items that were not sent, in their
 * places.
 */
function placesOf(
  { values, errors }: PlainPlaces,
  { indexes, errors: unsent }: SentBatch,
  size: number,
): Places<unknown> {
  if (errors.length === 0 && indexes === undefined) return values as Places<unknown>;
  const places: unknown[] = indexes === undefined ? Array.from(values) : new Array(size);
  for (const [at, index] of indexes?.entries() ?? []) places[index] = values[at];
  for (const [at, reason] of errors) places[indexes?.[at] ?? at] = errorOf(thrownThere(reason));
  for (const [index, error] of unsent) places[index] = errorOf(error);
  return places;
}

/** A place that holds an Error rejects its caller. */
function errorOf(reason: unknown): unknown {
  return reason instanceof Error ? reason : Promise.reject(reason);
}

/** An error thrown in a thread, which does not know the batcher's name. */
function thrownThere(reason: EncodedReason): unknown {
  const thrown = decodeReason(reason);
  return thrown instanceof BatchwiseError ? namelessError(thrown) : thrown;
}
