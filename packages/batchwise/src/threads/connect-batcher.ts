// The client side of a connection to a batcher in another thread; calls may block.
//
// Guarantees: every submit settles once, with its own answer, even if the batcher's thread closes
// or ends. Answers to other submits that arrive while this thread is blocked are delivered
// afterwards. The port keeps this thread alive only while a submit waits.

import { type MessagePort, receiveMessageOnPort, threadId } from "node:worker_threads";
import { bindMethods } from "../core/contract/bind-methods.ts";
import { deadlineError, NO_NAME } from "../core/contract/errors.ts";
import { anArray, expected, invalidOption } from "../core/contract/validate.ts";
import {
  type ConnectedBatcher,
  type ConnectedManyOptions,
  type ConnectedManySyncOptions,
  type ConnectedSubmitOptions,
  type ConnectedSyncOptions,
  type SplitOptions,
  splitOptions,
} from "./connect-options.ts";
import { decodeReason } from "./encode-reason.ts";
import { connectionClosedError, sameThreadError } from "./errors.ts";
import { type Packed, pack, post } from "./pack.ts";
import {
  ANSWERS,
  type Answer,
  type CancelRequest,
  GONE,
  type ManyRequest,
  type OneRequest,
  type Welcome,
} from "./protocol.ts";

/**
 * Connects to the batcher behind a port that `shareBatcher(…).port()` made in another thread. A
 * port serves one connection. Throws INVALID_OPTION for any other port, and for a port that is
 * already connected.
 *
 * @example
 * ```ts
 * import { type MessagePort, workerData } from "node:worker_threads";
 * import { connectBatcher } from "batchwise/threads";
 *
 * const { port } = workerData as { readonly port: MessagePort };
 * const embed = connectBatcher<string, number[]>(port);
 * const vector = embed.submitSync("one text"); // blocks this thread, and no other
 * const vectors = await embed.submitMany(["two", "three"]);
 * ```
 */
export function connectBatcher<Item, Result>(port: MessagePort): ConnectedBatcher<Item, Result> {
  return new Connection(port, welcomeOf(port)) as unknown as ConnectedBatcher<Item, Result>;
}

function welcomeOf(port: MessagePort): Welcome {
  let message: unknown;
  try {
    message = receiveMessageOnPort(port)?.message;
  } catch (error) {
    throw Object.assign(notAPort("what is no MessagePort"), { cause: error });
  }
  const { type } = (message ?? {}) as Partial<Welcome>;
  if (type === "batchwise.welcome.1") return message as Welcome;
  throw notAPort(message === undefined ? "one that is connected, or another port" : "a port with other messages");
}

function notAPort(got: string): Error {
  return invalidOption(TypeError, `Expected \`port\` to be a new port of shareBatcher(…).port(), got ${got}`);
}

/** A submit that waits for its answer. */
interface Waiter {
  readonly settle: (answer: Answer) => void;
  readonly close: () => void;
}

/**
 * Time in ms after its deadline at which a blocked submit gives up, so that the batcher's own
 * answer can come first.
 */
const GRACE_MS = 25;

class Connection implements ConnectedBatcher<unknown, unknown> {
  readonly #port: MessagePort;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #isOwnThread: boolean;
  readonly #waiters: Map<number, Waiter> = new Map();
  #lastId = 0;
  /** True while the port keeps this thread alive. */
  #isKept = false;
  #isClosed = false;

  constructor(port: MessagePort, { cells, hostThread }: Welcome) {
    this.#port = port;
    this.#cells = cells;
    this.#isOwnThread = hostThread === threadId;
    port.on("message", (answer: Answer) => this.#take(answer));
    // A message that cannot be read has an unknown id, so no single submit can be rejected.
    port.on("messageerror", () => this.close());
    port.on("close", () => this.#end());
    port.unref();
    bindMethods(this);
  }

  submit(item: unknown, options?: ConnectedSubmitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const split = splitOptions(options, undefined, false);
      this.#wait(split, resolve, reject, (id, isCancellable) => this.#postOne(id, item, split, isCancellable));
    });
  }

  submitMany(items: readonly unknown[], options?: ConnectedManyOptions<unknown>): Promise<unknown[]> {
    return new Promise<unknown>((resolve, reject) => {
      checkItems(items);
      const split = splitOptions(options, items, false);
      this.#wait(split, resolve, reject, (id, isCancellable) => this.#postMany(id, items, split, isCancellable));
    }) as Promise<unknown[]>;
  }

  submitSync(item: unknown, options?: ConnectedSyncOptions): unknown {
    const split = splitOptions(options, undefined, true);
    return this.#block(options?.timeoutMs, (id) => this.#postOne(id, item, split, isTimed(options)));
  }

  submitManySync(items: readonly unknown[], options?: ConnectedManySyncOptions<unknown>): unknown[] {
    checkItems(items);
    const split = splitOptions(options, items, true);
    return this.#block(options?.timeoutMs, (id) => this.#postMany(id, items, split, isTimed(options))) as unknown[];
  }

  close(): void {
    this.#port.close();
    this.#end();
  }

  get closed(): boolean {
    return this.#isClosed || Atomics.load(this.#cells, GONE) === 1;
  }

  #postOne(id: number, item: unknown, split: SplitOptions, isCancellable: boolean): void {
    const packed = pack(item, false);
    const request: OneRequest = { id, item: packed.value };
    this.#post(
      isPlain(split) && !isCancellable ? request : { ...request, ...extrasOf(split, isCancellable) },
      packed,
      split,
    );
  }

  #postMany(id: number, items: readonly unknown[], split: SplitOptions, isCancellable: boolean): void {
    const packed = pack(items, false);
    const request: ManyRequest = { id, items: packed.value as readonly unknown[], ...extrasOf(split, isCancellable) };
    this.#post(request, packed, split);
  }

  /** Throws if the request cannot be cloned. */
  #post(request: OneRequest | ManyRequest, packed: Packed, { transfer }: SplitOptions): void {
    // A failed transfer of the caller's buffers must throw: a second attempt would hide the
    // mistake.
    if (transfer.length > 0) this.#port.postMessage(request, [...transfer, ...packed.transfer]);
    else post(this.#port, request, packed.transfer);
  }

  #cancel(id: number): void {
    this.#port.postMessage({ cancel: id } satisfies CancelRequest);
  }

  #wait(
    { signal }: SplitOptions,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
    send: (id: number, isCancellable: boolean) => void,
  ): void {
    if (signal?.aborted) throw signal.reason;
    if (this.closed) throw connectionClosedError();
    this.#lastId += 1;
    const id = this.#lastId;
    send(id, signal !== undefined);
    const leave = (): void => {
      this.#forget(id);
      signal?.removeEventListener("abort", abort);
    };
    const abort = (): void => {
      leave();
      this.#cancel(id);
      reject(signal?.reason);
    };
    const settle = (answer: Answer): void => {
      leave();
      if ("error" in answer) reject(decodeReason(answer.error));
      else resolve(answer.value);
    };
    const close = (): void => {
      leave();
      reject(connectionClosedError());
    };
    if (!this.#isKept) this.#port.ref();
    this.#isKept = true;
    this.#waiters.set(id, { settle, close });
    signal?.addEventListener("abort", abort);
  }

  /** Sends, and sleeps until the answer has come. protocol.ts explains why it misses none. */
  #block(timeoutMs: number | undefined, send: (id: number) => void): unknown {
    if (this.#isOwnThread) throw sameThreadError();
    if (this.closed) throw connectionClosedError();
    this.#lastId += 1;
    const id = this.#lastId;
    const limitMs = Number.isFinite(timeoutMs) ? (timeoutMs as number) + GRACE_MS : Number.POSITIVE_INFINITY;
    const until = performance.now() + limitMs;
    const got: { answer?: Answer } = {};
    send(id);
    this.#waiters.set(id, {
      settle: (answer) => {
        got.answer = answer;
      },
      close: () => {},
    });
    try {
      for (;;) {
        // Read ANSWERS before GONE: the other side sets GONE first, then adds to ANSWERS.
        const seen = Atomics.load(this.#cells, ANSWERS);
        const isGone = this.closed;
        this.#takeAll();
        if (got.answer !== undefined) return resultOf(got.answer);
        if (isGone) throw connectionClosedError();
        const leftMs = until - performance.now();
        if (!(leftMs > 0)) {
          this.#cancel(id);
          throw deadlineError(NO_NAME, timeoutMs as number);
        }
        Atomics.wait(this.#cells, ANSWERS, seen, leftMs);
      }
    } finally {
      this.#forget(id);
    }
  }

  #forget(id: number): void {
    this.#waiters.delete(id);
    if (this.#waiters.size > 0 || !this.#isKept) return;
    this.#isKept = false;
    this.#port.unref();
  }

  /** Takes messages that arrived while this thread was blocked and could get no events. */
  #takeAll(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#take(received.message as Answer);
    }
  }

  /** A cancelled request has no waiter; its answer is dropped. */
  #take(answer: Answer): void {
    this.#waiters.get(answer.id)?.settle(answer);
  }

  #end(): void {
    this.#isClosed = true;
    for (const waiter of [...this.#waiters.values()]) waiter.close();
  }
}

function resultOf(answer: Answer): unknown {
  if ("error" in answer) throw decodeReason(answer.error);
  return answer.value;
}

function isPlain({ plain, each }: SplitOptions): boolean {
  return plain === undefined && each === undefined;
}

/** The optional parts of a request. */
function extrasOf({ plain, each }: SplitOptions, isCancellable: boolean): Omit<ManyRequest, "id" | "items"> {
  return {
    ...(plain === undefined ? {} : { options: plain }),
    ...(each === undefined ? {} : { each }),
    ...(isCancellable ? { isCancellable } : {}),
  };
}

function isTimed(options: { readonly timeoutMs?: number | undefined } | undefined): boolean {
  return options?.timeoutMs !== undefined;
}

function checkItems(items: unknown): void {
  if (!Array.isArray(items)) throw expected("items", anArray, items);
}
