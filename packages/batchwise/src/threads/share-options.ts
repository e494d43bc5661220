// What can be shared with other threads, how, and what its owner holds.

import type { MessagePort } from "node:worker_threads";
import { aBoolean, check, checkIsObject, invalidOption, objectWith, refuseUnknown } from "../core/contract/validate.ts";

/**
 * What is needed of a batcher: every batcher of this library that answers with single results has
 * it.
 */
export interface ShareableBatcher<Item, Result> {
  submit(item: Item, options?: object): Promise<Result>;
  submitMany(items: readonly Item[], options?: object): Promise<Result[]>;
  readonly options?: object;
}

/** How results go to the other threads. */
export interface ShareOptions {
  /**
   * True: typed arrays and ArrayBuffers in a result (up to a tensor in a record of tensors) that
   * own their whole memory are handed over without a copy, and are empty in this thread afterwards.
   * The handler must not use them again. Refused for a batcher with `dedupe`, which gives one
   * result to many. Default false: results are copied.
   */
  readonly transferResults?: boolean | undefined;
}

/** A batcher as other threads reach it. */
export interface SharedBatcher {
  /**
   * A new port, for one `connectBatcher` in one thread. Send it in `workerData` or by
   * `postMessage`, and name it in the list of what is transferred.
   */
  port(): MessagePort;
  /**
   * Ends all connections: their waiting items are cancelled, their callers get CLOSED. The batcher
   * stays as it is. Idempotent.
   */
  close(): void;
}

const aBatcher = { ...objectWith("submit", "submitMany"), expected: "a batcher" };

/** Throws INVALID_OPTION. */
export function resolveShareOptions(batcher: unknown, options: ShareOptions | undefined): Required<ShareOptions> {
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
