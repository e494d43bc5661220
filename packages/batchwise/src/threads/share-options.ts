// The options of sharing a batcher with other threads, and the object that its owner gets.

import type { MessagePort } from "node:worker_threads";
import { aBoolean, check, checkIsObject, invalidOption, objectWith, refuseUnknown } from "../core/contract/validate.ts";

/**
 * The members of a batcher that are needed: every batcher of this library that answers with single
 * results has them.
 */
export interface ShareableBatcher<Item, Result> {
  submit(item: Item, options?: object): Promise<Result>;
  submitMany(items: readonly Item[], options?: object): Promise<Result[]>;
  readonly options?: object;
}

/** Options of `shareBatcher`. */
export interface ShareOptions {
  /**
   * True: typed arrays and ArrayBuffers in a result (up to a tensor in a record of tensors) that
   * own their whole memory are transferred without a copy, and are empty in this thread afterwards.
   * The handler must not use them again. Refused for a batcher with `dedupe`, which gives one
   * result to many callers. Default false: results are copied.
   */
  readonly transferResults?: boolean | undefined;
}

/** A batcher that other threads can use. */
export interface SharedBatcher {
  /**
   * Makes a port for one `connectBatcher` in one thread. Send it in `workerData` or by
   * `postMessage`, and put it into the transfer list.
   */
  port(): MessagePort;
  /**
   * Ends all connections: cancels their waiting items, whose callers get CLOSED. Does not close the
   * batcher. Idempotent.
   */
  close(): void;
}

const aBatcher = { ...objectWith("submit", "submitMany"), expected: "a batcher" };

/** Throws INVALID_OPTION. */
export function resolveShareOptions(batcher: unknown, options: ShareOptions | undefined): Required<ShareOptions> {
  // The function that `batch` makes is a batcher, too.
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
