// One connected thread, seen from the batcher's side: takes its requests, posts its answers.
//
// Guarantees: each request is answered once while the connection stands; a result that cannot be sent rejects its caller
// alone; when the thread ends, its items leave the batcher. The port keeps this thread alive only while a caller waits.

import type { MessagePort } from "node:worker_threads";
import { encodeReason } from "./encode-reason.ts";
import { callerGoneError, uncloneableResultError } from "./errors.ts";
import { pack, post } from "./pack.ts";
import { ANSWERS, type Answer, GONE, type PlainOptions, type Request } from "./protocol.ts";
import type { ShareableBatcher } from "./share-batcher.ts";
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
  /** Aborts when the connection ends. The signal of all requests that have none of their own. */
  readonly #gone: AbortController = new AbortController();
  /** Of the requests that can be cancelled one by one. */
  readonly #cancellable: Map<number, AbortController> = new Map();
  #waiting = 0;
  #isOver = false;

  constructor(parts: ConnectionParts, onEnd: () => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    const { port } = parts;
    port.on("message", (request: Request) => this.#take(request));
    // What cannot be read has an id that nobody knows: its caller hears of it by the end of the connection.
    port.on("messageerror", () => this.close());
    port.on("close", () => this.#end());
    port.unref();
    this.#offExit = onThreadExit(() => this.#tellGone());
  }

  close(): void {
    this.#parts.port.close();
    this.#end();
  }

  #take(request: Request): void {
    if (request.type === "cancel") {
      this.#cancellable.get(request.id)?.abort(callerGoneError());
      return;
    }
    const { id } = request;
    if (this.#waiting === 0) this.#parts.port.ref();
    this.#waiting += 1;
    this.#submit(request, this.#signalOf(request)).then(
      (value) => this.#answer(id, value),
      (reason: unknown) => this.#settle({ id, error: encodeReason(reason) }),
    );
  }

  #submit(request: Exclude<Request, { type: "cancel" }>, signal: AbortSignal): Promise<unknown> {
    const { batcher } = this.#parts;
    try {
      if (request.type === "one") return batcher.submit(request.item, { ...request.options, signal });
      return batcher.submitMany(request.items, { ...request.options, ...functionsOf(request.each), signal });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #signalOf({ id, isCancellable }: Exclude<Request, { type: "cancel" }>): AbortSignal {
    if (!isCancellable) return this.#gone.signal;
    const controller = new AbortController();
    this.#cancellable.set(id, controller);
    return controller.signal;
  }

  #answer(id: number, value: unknown): void {
    try {
      const packed = pack(value, this.#parts.movesResults);
      this.#settle({ id, value: packed.value }, packed.transfer);
    } catch (error) {
      this.#settle({ id, error: encodeReason(uncloneableResultError(error)) });
    }
  }

  /** Throws where the answer cannot be cloned; then nothing has changed. */
  #settle(answer: Answer, transfer: readonly ArrayBuffer[] = []): void {
    if (this.#isOver) return;
    const { port, cells } = this.#parts;
    post(port, answer, transfer);
    Atomics.add(cells, ANSWERS, 1);
    Atomics.notify(cells, ANSWERS);
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
    for (const controller of this.#cancellable.values()) controller.abort(reason);
    this.#cancellable.clear();
  }

  /** Wakes the thread at the other end if it sleeps. */
  #tellGone(): void {
    const { cells } = this.#parts;
    Atomics.store(cells, GONE, 1);
    Atomics.add(cells, ANSWERS, 1);
    Atomics.notify(cells, ANSWERS);
  }
}

/** Options that give each item the value that was read of it over there: the batcher asks once an item, in order. */
function functionsOf(each: Readonly<Record<string, readonly unknown[]>> | undefined): PlainOptions | undefined {
  if (each === undefined) return undefined;
  const functions: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(each)) {
    let at = 0;
    functions[name] = () => {
      at += 1;
      return values[at - 1];
    };
  }
  return functions;
}
