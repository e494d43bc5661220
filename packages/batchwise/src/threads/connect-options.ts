// The options of submits from another thread, and the type of a batcher there.

import type { SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { checkIsObject, expected, invalidOption, objectWith, type Rule } from "../core/contract/validate.ts";
import type { PlainOptions } from "./protocol.ts";

/** Buffers to transfer with an item. */
interface Transfers {
  /**
   * ArrayBuffers of the item to transfer without a copy. They are empty in this thread afterwards.
   */
  readonly transfer?: readonly ArrayBuffer[] | undefined;
}

/**
 * Options of `submit`. `context` must be cloneable; a token batcher takes `tokens` instead of
 * `cost`.
 */
export interface ConnectedSubmitOptions extends SubmitOptions, Transfers {
  readonly tokens?: number | undefined;
}

/** Options of `submitMany`. */
export interface ConnectedManyOptions<Item> extends SubmitManyOptions<Item>, Transfers {
  readonly tokens?: number | ((item: Item) => number) | undefined;
}

/** Options of `submitSync`: no signal can abort while its thread is blocked, so use `timeoutMs`. */
export type ConnectedSyncOptions = Omit<ConnectedSubmitOptions, "signal">;

/** Options of `submitManySync`. */
export type ConnectedManySyncOptions<Item> = Omit<ConnectedManyOptions<Item>, "signal">;

/** A batcher in another thread. */
export interface ConnectedBatcher<Item, Result> {
  /**
   * Adds one item to the next batch.
   * @returns the item's own result. Rejects as the batcher itself does, with CLOSED if the
   * connection ends, and with a DataCloneError for an item that cannot be cloned.
   */
  submit(item: Item, options?: ConnectedSubmitOptions): Promise<Result>;
  /**
   * Adds many items in one message; resolves with their results in order. Rejects with the first
   * failure; the other items continue.
   */
  submitMany(items: readonly Item[], options?: ConnectedManyOptions<Item>): Promise<Result[]>;
  /**
   * Adds one item and blocks this thread until its result is there. Throws the error with which
   * `submit` rejects. With `timeoutMs` it throws DEADLINE_EXCEEDED even if the batcher's thread
   * does not answer. In the batcher's own thread it throws SAME_THREAD.
   */
  submitSync(item: Item, options?: ConnectedSyncOptions): Result;
  /** Adds many items in one message and blocks this thread until all results are there. */
  submitManySync(items: readonly Item[], options?: ConnectedManySyncOptions<Item>): Result[];
  /**
   * Ends the connection: waiting items are cancelled in the batcher and reject with CLOSED here.
   * Idempotent.
   */
  close(): void;
  /** True if the connection has ended, on either side. */
  readonly closed: boolean;
}

/** The options of a submit, split by how they are sent. */
export interface SplitOptions {
  readonly signal: AbortSignal | undefined;
  readonly transfer: readonly ArrayBuffer[];
  /** The options that the batcher itself checks. */
  readonly plain: PlainOptions | undefined;
  /** For options that are functions: their value for each item. */
  readonly each: Readonly<Record<string, readonly unknown[]>> | undefined;
}

const NONE: SplitOptions = { signal: undefined, transfer: [], plain: undefined, each: undefined };
const aSignal: Rule = { ...objectWith("addEventListener", "removeEventListener"), expected: "an AbortSignal" };
const aList: Rule = { ...objectWith(), expected: "an array of ArrayBuffers" };

/**
 * `items`: the items of a call with many. Throws INVALID_OPTION, and errors of the caller's
 * functions.
 */
export function splitOptions(
  options: object | undefined,
  items: readonly unknown[] | undefined,
  isSync: boolean,
): SplitOptions {
  if (options === undefined) return NONE;
  checkIsObject("options", options);
  const { signal, transfer, ...others } = options as Readonly<Record<string, unknown>>;
  if (isSync && signal !== undefined) {
    const way = "nothing aborts while this thread is blocked; use `timeoutMs`";
    throw invalidOption(TypeError, `Unknown option \`signal\`: ${way}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw expected("signal", aSignal, signal);
  if (transfer !== undefined && !Array.isArray(transfer)) throw expected("transfer", aList, transfer, TypeError);
  const each = items === undefined ? undefined : takeFunctions(others, items);
  return { signal: signal as AbortSignal | undefined, transfer: transfer ?? NONE.transfer, plain: others, each };
}

/** Replaces the functions in the options of a call with many by their values. */
function takeFunctions(options: Record<string, unknown>, items: readonly unknown[]): SplitOptions["each"] {
  let each: Record<string, readonly unknown[]> | undefined;
  for (const [name, value] of Object.entries(options)) {
    if (typeof value !== "function") continue;
    delete options[name];
    each = { ...each, [name]: items.map((item) => value(item) as unknown) };
  }
  return each;
}
