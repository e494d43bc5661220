// The messages between a batcher's thread and a connected one, and the two cells of memory that
// they share.
//
// The batcher's side adds one to ANSWERS after each message that it posts, and wakes who sleeps on
// it. So a thread that reads ANSWERS, empties its queue of messages and then sleeps on the value it
// read misses none; a wake-up that came late only makes it look again.

import type { EncodedReason } from "./encode-reason.ts";

/** Cells of the shared Int32Array. */
export const ANSWERS = 0;
/** 1 once the batcher's side will post nothing more. */
export const GONE = 1;
export const CELLS = 2;

/** The first message on each port, put there by `port()`. */
export interface Welcome {
  readonly type: "batchwise.welcome.1";
  /** Of the thread that the batcher runs in. */
  readonly hostThread: number;
  readonly cells: Int32Array<SharedArrayBuffer>;
}

/** Options as the batcher takes them, without `signal` and without functions. */
export type PlainOptions = Readonly<Record<string, unknown>>;

/**
 * A submit of one item. What a plain one does not need is left out: every property costs time on
 * its way.
 */
export interface OneRequest {
  readonly id: number;
  readonly item: unknown;
  readonly options?: PlainOptions;
  /** A "cancel" may follow. */
  readonly isCancellable?: true;
}

/** A submit of many. */
export interface ManyRequest extends Omit<OneRequest, "item"> {
  readonly items: readonly unknown[];
  /** Options that were functions of the item: their value for each item. */
  readonly each?: Readonly<Record<string, readonly unknown[]>>;
}

export interface CancelRequest {
  readonly cancel: number;
}

/** From a connected thread. */
export type Request = OneRequest | ManyRequest | CancelRequest;

/** To a connected thread: one for each request that is no cancel. */
export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: EncodedReason };
