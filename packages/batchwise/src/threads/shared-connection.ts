// One connected thread, seen from the batcher's side: takes its requests and posts its answers.
//
// Guarantees: each request is answered once while the connection is open. A result that cannot be
// sent rejects only its caller. When the thread ends, its items leave the batcher. The port keeps
// this thread alive only while a caller waits.

import type { MessagePort } from "node:worker_threads";
import { invalidOption } from "../core/contract/validate.ts";
import { encodeReason } from "./encode-reason.ts";
import { callerGoneError, uncloneableResultError } from "./errors.ts";
import { LightSignal } from "./light-signal.ts";
import { pack, post } from "./pack.ts";
import {
  ANSWERS,
  type Answer,
  GONE,
  type ManyRequest,
  type OneRequest,
  type PlainOptions,
  type Request,
} from "./protocol.ts";
import type { ShareableBatcher } from "./share-options.ts";
import { onThreadExit } from "./thread-exit.ts";

export interface ConnectionParts {
  readonly port: MessagePort;
  readonly batcher: ShareableBatcher<unknown, unknown>;
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly movesResults: boolean;
}

export class SharedConnection {
  readonly #parts: ConnectionParts;
  readonly #onEnd: () => void;
  readonly #offExit: () => void;
  /** Aborts when the connection ends. The signal of all requests without one of their own. */
  readonly #gone: LightSignal = new LightSignal();
  /** The signals of requests that can be cancelled one by one. */
  readonly #cancellable: Map<number, LightSignal> = new Map();
  #waiting = 0;
  #isOver = false;

  constructor(parts: ConnectionParts, onEnd: () => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    const { port } = parts;
    port.on("message", (request: unknown) => this.#take(request));
    // A message that cannot be read has an unknown id, so its caller gets the end of the connection
    // as its answer.
    port.on("messageerror", () => this.close());
    port.on("close", () => this.#end());
    port.unref();
    this.#offExit = onThreadExit(() => this.#tellGone());
  }

  close(): void {
    this.#parts.port.close();
    this.#end();
  }

  /** A closed port still delivers the messages that have come before. */
  #take(request: unknown): void {
    if (this.#isOver || !isRequest(request)) return;
    if ("cancel" in request) {
      this.#cancellable.get(request.cancel)?.abort(callerGoneError());
      return;
    }
    const { id } = request;
    if (this.#waiting === 0) this.#parts.port.ref();
    this.#waiting += 1;
    this.#submit(request).then(
      (value) => this.#answer(id, value),
      (reason: unknown) => this.#settle({ id, error: encodeReason(reason) }),
    );
  }

  #submit(request: OneRequest | ManyRequest): Promise<unknown> {
    const { batcher } = this.#parts;
    const signal = this.#signalOf(request);
    const options = request.options === undefined ? { signal } : { ...request.options, signal };
    try {
      if ("item" in request) return batcher.submit(request.item, options);
      return batcher.submitMany(request.items, { ...options, ...functionsOf(request) });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #signalOf({ id, isCancellable }: OneRequest | ManyRequest): LightSignal {
    if (isCancellable === undefined) return this.#gone;
    const signal = new LightSignal();
    this.#cancellable.set(id, signal);
    return signal;
  }

  #answer(id: number, value: unknown): void {
    try {
      const packed = pack(value, this.#parts.movesResults);
      this.#settle({ id, value: packed.value }, packed.transfer);
    } catch (error) {
      this.#settle({ id, error: encodeReason(uncloneableResultError(error)) });
    }
  }

  /** Throws if the answer cannot be cloned; nothing has changed then. */
  #settle(answer: Answer, transfer: readonly ArrayBuffer[] = []): void {
    if (this.#isOver) return;
    const { port, cells } = this.#parts;
    post(port, answer, transfer);
    wakeLater(cells);
    this.#cancellable.delete(answer.id);
    this.#waiting -= 1;
    if (this.#waiting === 0) port.unref();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#offExit();
    this.#tellGone();
    this.#onEnd();
    const reason = callerGoneError();
    this.#gone.abort(reason);
    for (const signal of this.#cancellable.values()) signal.abort(reason);
    this.#cancellable.clear();
  }

  /** Wakes the thread at the other end if it sleeps. */
  #tellGone(): void {
    const { cells } = this.#parts;
    Atomics.store(cells, GONE, 1);
    wake(cells);
  }
}

/** Any code of the other thread that has the port can post on it. */
function isRequest(message: unknown): message is Request {
  return typeof message === "object" && message !== null && ("cancel" in message || "id" in message);
}

function wake(cells: Int32Array): void {
  Atomics.add(cells, ANSWERS, 1);
  Atomics.notify(cells, ANSWERS);
}

const toWake: Set<Int32Array> = new Set();

/**
 * Runs after all answers of a batch have been posted, because a thread that wakes may take this
 * thread's core.
 */
function wakeLater(cells: Int32Array): void {
  if (toWake.size === 0) {
    queueMicrotask(() => {
      for (const each of toWake) wake(each);
      toWake.clear();
    });
  }
  toWake.add(cells);
}

/**
 * Options that give each item the value that was computed for it in the other thread. Equal items
 * have equal values.
 */
function functionsOf({ items, each }: ManyRequest): PlainOptions | undefined {
  if (each === undefined) return undefined;
  const functions: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(each)) {
    const byItem = new Map(items.map((item, index) => [item, values[index]]));
    functions[name] = (item: unknown) => {
      if (byItem.has(item)) return byItem.get(item);
      // A batcher of tensors calls the function per row, and a function of another thread knows
      // only records.
      throw invalidOption(TypeError, `Expected \`${name}\` to be no function: this batcher does not ask item by item`);
    };
  }
  return functions;
}
