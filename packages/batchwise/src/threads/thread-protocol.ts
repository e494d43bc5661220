// The messages between a `threadHandler` and its threads.

import type { BatchContext } from "../core/contract/types.ts";
import type { EncodedReason } from "./encode-reason.ts";

/** The part of a batch's context that is sent; the thread has its own signal. */
export type PlainContext = Omit<BatchContext, "signal">;

/** The task of the answer to a message that the thread cannot read: it has one task at a time. */
export const UNREADABLE = "batchwise:unreadable";

/** The user's module may send messages on the same port. The task's id marks ours. */
interface OfTask {
  readonly task: string;
}

/** To a thread, which gets one run at a time. */
export type ToThread =
  | (OfTask & { readonly type: "load"; readonly url: string; readonly movesResults: boolean })
  | (OfTask & { readonly type: "run"; readonly items: readonly unknown[]; readonly context: PlainContext })
  | { readonly type: "abort" }
  /** Sent when nothing runs: the thread closes its handler and ends. */
  | (OfTask & { readonly type: "close" });

/** The places of one batch: one value each, or an error for the listed places. */
export interface PlainPlaces {
  readonly values: ArrayLike<unknown>;
  readonly errors: readonly (readonly [index: number, reason: EncodedReason])[];
}

export type FromThread = OfTask & Answer;

export type Answer =
  | { readonly type: "ready" }
  /** The module could not be loaded, or its `open` failed; the thread ends. */
  | { readonly type: "refused"; readonly error: EncodedReason }
  | ({ readonly type: "done" } & PlainPlaces)
  | { readonly type: "failed"; readonly error: EncodedReason }
  /** The handler's `close` failed; the thread ends. */
  | { readonly type: "closeFailed"; readonly error: EncodedReason };
