// The options of submits from another thread, and a batcher as that thread sees it.

import type { SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { checkIsObject, expected, invalidOption, objectWith, type Rule } from "../core/contract/validate.ts";
import type { PlainOptions } from "./protocol.ts";

/** What can be given away with an item. */
interface Transfers {
  /**
   * ArrayBuffers of the item that are handed over without a copy. They are empty in this thread
   * afterwards.
   */
  readonly transfer?: readonly ArrayBuffer[] | undefined;
}

/**
 * Those of `submit`. `context` must be cloneable; a token batcher takes `tokens` in place of
 * `cost`.
 */
export interface ConnectedSubmitOptions extends SubmitOptions, Transfers {
  readonly tokens?: number | undefined;
}

/** Those of `submitMany`. */
export interface ConnectedManyOptions<Item> extends SubmitManyOptions<Item>, Transfers {
  readonly tokens?: number | ((item: Item) => number) | undefined;
}

/**
 * Those of `submitSync`: no signal can abort while its thread is blocked, so `timeoutMs` has to do.
 */
export type ConnectedSyncOptions = Omit<ConnectedSubmitOptions, "signal">;

/** Those of `submitManySync`. */
export type ConnectedManySyncOptions<Item> = Omit<ConnectedManyOptions<Item>, "signal">;

/** A batcher of another thread. */
export interface ConnectedBatcher<Item, Result> {
  /**
   * Adds one item to the next batch.
   * @returns the item's own result. Rejects as the batcher itself does; with CLOSED when the
   * connection ends, and with a DataCloneError for an item that cannot be cloned.
   */
  submit(item: Item, options?: ConnectedSubmitOptions): Promise<Result>;
  /**
   * Adds many items, in one message; their results in order. Rejects with the first failure while
   * the others go on.
   */
  submitMany(items: readonly Item[], options?: ConnectedManyOptions<Item>): Promise<Result[]>;
  /**
   * Adds one item and blocks this thread until its result is there. Throws what `submit` rejects
   * with. With `timeoutMs` it throws DEADLINE_EXCEEDED also when the batcher's thread does not
   * answer at all. In the batcher's own thread it throws SAME_THREAD.
   */
  submitSync(item: Item, options?: ConnectedSyncOptions): Result;
  /** Adds many items, in one message, and blocks this thread until all results are there. */
  submitManySync(items: readonly Item[], options?: ConnectedManySyncOptions<Item>): Result[];
  /** Ends the connection: what waits is cancelled there and gets CLOSED here. Idempotent. */
  close(): void;
  /** True when the connection has ended, on either side. */
  readonly closed: boolean;
}

/** The options of a submit, apart. */
export interface SplitOptions {
  readonly signal: AbortSignal | undefined;
  readonly transfer: readonly ArrayBuffer[];
  /** What the batcher itself checks. */
  readonly plain: PlainOptions | undefined;
  /** Of options that are functions: the value for each item. */
  readonly each: Readonly<Record<string, readonly unknown[]>> | undefined;
}

const NONE: SplitOptions = { signal: undefined, transfer: [], plain: undefined, each: undefined };
const aSignal: Rule = { ...objectWith("addEventListener", "removeEventListener"), expected: "an AbortSignal" };
const aList: Rule = { ...objectWith(), expected: "an array of ArrayBuffers" };

/**
 * `items`: those of a call with many. Throws INVALID_OPTION, and what a function of the caller
 * throws.
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

/** Takes the functions out of the options of a call with many. */
function takeFunctions(options: Record<string, unknown>, items: readonly unknown[]): SplitOptions["each"] {
  let each: Record<string, readonly unknown[]> | undefined;
  for (const [name, value] of Object.entries(options)) {
    if (typeof value !== "function") continue;
    delete options[name];
    each = { ...each, [name]: items.map((item) => value(item) as unknown) };
  }
  return each;
}
