// A handler for tests: it records each call and answers when the test says so.

import type { BatchContext, HandlerFunction, Place } from "../core/contract/types.ts";

/** One call of the handler, which waits for its answer. */
export interface PuppetCall<Item, Result> {
  readonly items: readonly Item[];
  readonly context: BatchContext;
  /** False once it has been answered. */
  readonly isOpen: boolean;
  /** Answers with one place per item. */
  resolve(results: readonly Place<Result>[]): void;
  /** Answers each item with the function's result. */
  answer(by: (item: Item) => Place<Result>): void;
  reject(error: unknown): void;
}

/** A handler that records its calls and leaves them open until a test answers them. */
export interface PuppetHandler<Item, Result> extends HandlerFunction<Item, Result> {
  /** Every call so far, in order. */
  readonly calls: readonly PuppetCall<Item, Result>[];
  /** The calls without an answer. */
  readonly open: readonly PuppetCall<Item, Result>[];
  /** The items of every call so far. */
  readonly batches: readonly (readonly Item[])[];
}

/**
 * Makes a handler whose calls the test answers one by one.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * import { puppetHandler, virtualClock } from "batchwise/testing";
 * const clock = virtualClock();
 * const handler = puppetHandler<string, number>();
 * const lengthOf = batch(handler, { clock });
 * const answer = lengthOf("abc");
 * await clock.settle();
 * handler.calls[0]?.answer((text) => text.length);
 * await answer; // 3
 * ```
 */
export function puppetHandler<Item, Result = Item>(): PuppetHandler<Item, Result> {
  const calls: Call<Item, Result>[] = [];
  const handler = (items: Item[], context: BatchContext): Promise<readonly Place<Result>[]> => {
    const call = new Call<Item, Result>(items.slice(), context);
    calls.push(call);
    return call.promise;
  };
  const record = {
    calls,
    get open(): readonly PuppetCall<Item, Result>[] {
      return calls.filter((call) => call.isOpen);
    },
    get batches(): readonly (readonly Item[])[] {
      return calls.map((call) => call.items);
    },
  };
  return Object.defineProperties(handler, Object.getOwnPropertyDescriptors(record)) as typeof handler & typeof record;
}

class Call<Item, Result> implements PuppetCall<Item, Result> {
  readonly items: readonly Item[];
  readonly context: BatchContext;
  readonly promise: Promise<readonly Place<Result>[]>;
  #settle: (places: readonly Place<Result>[] | Promise<never>) => void = () => {};
  isOpen = true;

  constructor(items: readonly Item[], context: BatchContext) {
    this.items = items;
    this.context = context;
    this.promise = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  resolve(results: readonly Place<Result>[]): void {
    this.isOpen = false;
    this.#settle(results);
  }

  answer(by: (item: Item) => Place<Result>): void {
    this.resolve(this.items.map(by));
  }

  reject(error: unknown): void {
    // No one would handle the rejected promise.
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#settle(Promise.reject(error));
  }
}
