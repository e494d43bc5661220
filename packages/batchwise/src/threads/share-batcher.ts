// A batcher for other threads: `port()` makes one end of a connection, to be sent to the thread that calls
// `connectBatcher` with it.
//
// Guarantees: no port keeps this thread alive unless a caller behind it waits; the batcher may be used here as before.

import { MessageChannel, type MessagePort, threadId } from "node:worker_threads";
import { aBoolean, check, checkIsObject, invalidOption, objectWith, refuseUnknown } from "../core/contract/validate.ts";
import { CELLS, type Welcome } from "./protocol.ts";
import { SharedConnection } from "./shared-connection.ts";

/** What is needed of a batcher: every batcher of this library that answers with single results has it. */
export interface ShareableBatcher<Item, Result> {
  submit(item: Item, options?: object): Promise<Result>;
  submitMany(items: readonly Item[], options?: object): Promise<Result[]>;
  readonly options?: object;
}

/** How results go to the other threads. */
export interface ShareOptions {
  /**
   * True: typed arrays and ArrayBuffers in a result (up to a tensor in a record of tensors) that own their whole memory
   * are handed over without a copy, and are empty in this thread afterwards. The handler must not use them again.
   * Refused for a batcher with `dedupe`, which gives one result to many. Default false: results are copied.
   */
  readonly transferResults?: boolean | undefined;
}

/** A batcher as other threads reach it. */
export interface SharedBatcher {
  /**
   * A new port, for one `connectBatcher` in one thread. Send it in `workerData` or by `postMessage`, and name it in the
   * list of what is transferred.
   */
  port(): MessagePort;
  /**
   * Ends all connections: their waiting items are cancelled, their callers get CLOSED. The batcher stays as it is.
   * Idempotent.
   */
  close(): void;
}

/**
 * Lets worker threads submit to a batcher of this thread, blocking or not, so that the items of all threads meet in
 * common batches. Each thread gets a port of its own and calls {@link connectBatcher} with it.
 *
 * Items and results are structured clones: objects of classes arrive as plain objects, functions cannot go.
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

const aBatcher = { ...objectWith("submit", "submitMany"), expected: "a batcher" };

function resolveShareOptions(batcher: unknown, options: ShareOptions | undefined): Required<ShareOptions> {
  // The function that `batch` makes is a batcher too.
  check("batcher", typeof batcher === "function" ? { ...aBatcher, type: "function" } : aBatcher, batcher);
  checkIsObject("options", options);
  if (options !== undefined) refuseUnknown(options, ["transferResults"]);
  const transferResults = options?.transferResults ?? false;
  check("transferResults", aBoolean, transferResults);
  const { dedupe } = ((batcher as ShareableBatcher<unknown, unknown>).options ?? {}) as { readonly dedupe?: unknown };
  if (transferResults && dedupe !== undefined) {
    throw invalidOption(
      TypeError,
      "Expected `transferResults` to be false for a batcher with `dedupe`: one result may go to many callers",
    );
  }
  return { transferResults };
}

class Shared implements SharedBatcher {
  readonly #batcher: ShareableBatcher<unknown, unknown>;
  readonly #options: Required<ShareOptions>;
  readonly #connections: Set<SharedConnection> = new Set();

  constructor(batcher: ShareableBatcher<unknown, unknown>, options: Required<ShareOptions>) {
    this.#batcher = batcher;
    this.#options = options;
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
