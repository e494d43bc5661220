// Makes a batcher usable from other threads: `port()` returns one end of a connection, to send to
// the thread that calls `connectBatcher` with it.
//
// Guarantees: a port keeps this thread alive only while a caller behind it waits. The batcher can
// still be used in this thread.

import { MessageChannel, type MessagePort, threadId } from "node:worker_threads";
import { bindMethods } from "../core/contract/bind-methods.ts";
import { CELLS, type Welcome } from "./protocol.ts";
import { resolveShareOptions, type ShareableBatcher, type SharedBatcher, type ShareOptions } from "./share-options.ts";
import { SharedConnection } from "./shared-connection.ts";

/**
 * Lets worker threads submit to a batcher of this thread, blocking or not, so that the items of all
 * threads share batches. Each thread gets its own port and calls {@link connectBatcher} with it.
 *
 * Items and results are structured clones: objects of classes arrive as plain objects, and
 * functions cannot be sent.
 *
 * @example
 * ```ts
 * import { Worker } from "node:worker_threads";
 * import { createBatcher } from "batchwise";
 * import { shareBatcher } from "batchwise/threads";
 *
 * const batcher = createBatcher(async (texts: string[]) => texts.map((text) => text.length));
 * const shared = shareBatcher(batcher);
 * const startWorker = (): Worker => {
 *   const port = shared.port();
 *   return new Worker(new URL("./worker.js", import.meta.url), { workerData: { port }, transferList: [port] });
 * };
 * ```
 */
export function shareBatcher<Item, Result>(
  batcher: ShareableBatcher<Item, Result>,
  options?: ShareOptions,
): SharedBatcher {
  return new Shared(batcher as ShareableBatcher<unknown, unknown>, resolveShareOptions(batcher, options));
}

class Shared implements SharedBatcher {
  readonly #batcher: ShareableBatcher<unknown, unknown>;
  readonly #options: Required<ShareOptions>;
  readonly #connections: Set<SharedConnection> = new Set();

  constructor(batcher: ShareableBatcher<unknown, unknown>, options: Required<ShareOptions>) {
    this.#batcher = batcher;
    this.#options = options;
    bindMethods(this);
  }

  port(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const cells = new Int32Array(new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT));
    const connection = new SharedConnection(
      { port: port1, batcher: this.#batcher, cells, movesResults: this.#options.transferResults === true },
      () => this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    const welcome: Welcome = { type: "batchwise.welcome.1", hostThread: threadId, cells };
    port1.postMessage(welcome);
    return port2;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
