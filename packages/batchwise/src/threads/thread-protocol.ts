// The messages between a `threadHandler` and its threads. Types only.

import type { BatchContext } from "../core/contract/types.ts";
import type { EncodedReason } from "./encode-reason.ts";

/** What of a batch's context goes over; the thread has a signal of its own. */
export type PlainContext = Omit<BatchContext, "signal">;

/**
 * The user's module may send messages over the same port. An answer is told from those by the task
 * it names.
 */
interface OfTask {
  readonly task: string;
}

/** To a thread. It is given one run at a time. */
export type ToThread =
  | (OfTask & { readonly type: "load"; readonly url: string; readonly movesResults: boolean })
  | (OfTask & { readonly type: "run"; readonly items: readonly unknown[]; readonly context: PlainContext })
  | { readonly type: "abort" }
  /** Sent when nothing runs: the thread closes its handler and ends. */
  | (OfTask & { readonly type: "close" });

/** The places of one batch: a value each, or an error for those that are listed. */
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
