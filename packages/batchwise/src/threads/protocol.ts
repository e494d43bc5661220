// The messages between a batcher's thread and a connected thread, and the two cells of memory that
// they share.
//
// The batcher's side adds one to ANSWERS after each message that it posts, and wakes threads that
// sleep on it. So a thread that reads ANSWERS, empties its message queue and then sleeps on the
// value that it read misses no message; a late wake-up only makes it look again.

import type { EncodedReason } from "./encode-reason.ts";

/** Indexes of the shared Int32Array. */
export const ANSWERS = 0;
/** 1 once the batcher's side posts no more messages. */
export const GONE = 1;
export const CELLS = 2;

/** The first message on each port, posted by `port()`. */
export interface Welcome {
  readonly type: "batchwise.welcome.1";
  /** Id of the batcher's thread. */
  readonly hostThread: number;
  readonly cells: Int32Array<SharedArrayBuffer>;
}

/** Options as the batcher takes them, without `signal` and without functions. */
export type PlainOptions = Readonly<Record<string, unknown>>;

/** A submit of one item. Optional properties are left out, because each costs time to send. */
export interface OneRequest {
  readonly id: number;
  readonly item: unknown;
  readonly options?: PlainOptions;
  /** A "cancel" may follow. */
  readonly isCancellable?: true;
}

/** A submit of many items. */
export interface ManyRequest extends Omit<OneRequest, "item"> {
  readonly items: readonly unknown[];
  /** For options that were functions of the item: their value for each item. */
  readonly each?: Readonly<Record<string, readonly unknown[]>>;
}

export interface CancelRequest {
  readonly cancel: number;
}

/** From a connected thread. */
export type Request = OneRequest | ManyRequest | CancelRequest;

/** To a connected thread: one for each request except a cancel. */
export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: EncodedReason };
