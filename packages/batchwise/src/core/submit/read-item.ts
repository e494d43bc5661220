// From what a caller passed to an entry of the queue: the user's functions are called here, on the caller's time and
// in the caller's async context, and what they get wrong concerns this item alone.

import { itemTooLargeError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import type { SubmitOptions } from "../contract/types.ts";
import {
  aCost,
  anyNumber,
  aString,
  check,
  checkIsObject,
  expected,
  isCost,
  objectWith,
  rangeError,
} from "../contract/validate.ts";
import type { Addressee, Sink } from "../queue/recipient.ts";
import type { Stages } from "../run/handler.ts";
import { type Clock, dueAfter } from "../time/clock.ts";

/** An item on its way into the queue: who is to be told first, the rest as it is read. */
export class Entry implements Addressee {
  sink: Sink;
  readonly position: number;
  /** When it was submitted; of one that was looked up in the cache first, when that had ended. */
  time: number;
  /** What the handler will be given. */
  item: unknown = undefined;
  key: string | undefined = undefined;
  tenant = "";
  cost = 1;
  priority = 0;
  /** Of a call that goes before larger ones. */
  readonly small: boolean;
  context: unknown = undefined;
  /** When it expires, where it has no ticket that knows. */
  dueAt: number = Number.POSITIVE_INFINITY;
  timeoutMs: number = Number.POSITIVE_INFINITY;

  constructor(sink: Sink, position: number, time: number, small: boolean) {
    this.sink = sink;
    this.position = position;
    this.time = time;
    this.small = small;
  }

  /** Gives it a deadline, from this moment on. */
  endAfter(clock: Clock, timeoutMs: number): void {
    this.timeoutMs = timeoutMs;
    this.dueAt = dueAfter(clock, timeoutMs);
  }
}

const aSignal = { ...objectWith("addEventListener", "removeEventListener"), expected: "an AbortSignal" };

/** Reads one item into its entry. Throws what a user function threw, INVALID_OPTION or ITEM_TOO_LARGE. */
export function readItem(
  entry: Entry,
  item: unknown,
  options: ResolvedOptions,
  submit: SubmitOptions | undefined,
  prepareItem: Stages["prepareItem"],
): void {
  const cost = submit?.cost ?? costOf(item, options);
  if (!isCost(cost)) throw rangeError("cost", aCost, cost);
  entry.cost = cost;
  entry.priority = submit?.priority ?? 0;
  entry.tenant = tenantOf(item, options);
  entry.context = submit?.context === undefined ? options.captureContext?.() : submit.context;
  entry.item = prepareItem === undefined ? item : prepareItem(item);
  if (options.maxBatchCost !== Number.POSITIVE_INFINITY) refuseOversize(entry.item, cost, options);
}

/** Throws INVALID_OPTION unless these are submit options. */
export function checkSubmitOptions(submit: SubmitOptions): void {
  checkIsObject("options", submit);
  const { signal, priority, timeoutMs, key } = submit;
  if (signal !== undefined) check("signal", aSignal, signal);
  if (priority !== undefined) check("priority", anyNumber, priority);
  if (timeoutMs !== undefined) check("timeoutMs", anyNumber, timeoutMs);
  if (key !== undefined) check("key", aString, key);
}

/** The cost of an item by the `cost` option. Throws what the function throws, or INVALID_OPTION. */
export function costOf(item: unknown, options: ResolvedOptions): number {
  if (options.cost === oneEach) return 1;
  const cost = options.cost(item);
  if (!isCost(cost)) throw rangeError("cost", aCost, cost);
  return cost;
}

/** Whose turn an item takes; the same for all where tenants do not take turns. */
export function tenantOf(item: unknown, options: ResolvedOptions): string {
  return options.fairBy === undefined ? "" : text("fairBy", options.fairBy(item));
}

/** The key of an item; undefined where no keys are in use. */
export function keyOf(item: unknown, options: ResolvedOptions, submit?: SubmitOptions): string | undefined {
  return submit?.key ?? (options.key === undefined ? undefined : text("key", options.key(item)));
}

/** The string that `dedupe` gives an item. */
export function dedupeKeyOf(dedupe: (item: unknown) => string, item: unknown): string {
  return text("dedupe", dedupe(item));
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string")
    throw expected(name, { ...aString, expected: "a function that returns a string" }, value);
  return value;
}

/** Throws ITEM_TOO_LARGE for an item that is over the cap by itself, unless it may run alone. */
export function refuseOversize(item: unknown, cost: number, options: ResolvedOptions): void {
  const { batchCost, maxBatchCost, oversize } = options;
  const ownCost = typeof batchCost === "function" ? batchCost([item]) : cost;
  if (!(typeof ownCost === "number" && ownCost >= 0)) {
    throw rangeError("batchCost", { ...aCost, expected: "a function that returns a number >= 0" }, ownCost);
  }
  if (ownCost > maxBatchCost && oversize === "reject") throw itemTooLargeError(ownCost, maxBatchCost);
}
