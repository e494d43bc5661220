// From what a caller passed to an entry of the queue: the user's functions are called here, on the caller's time and
// in the caller's async context, and what they get wrong concerns this item alone.

import { itemTooLargeError } from "./errors.ts";
import type { Stages } from "./handler.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Sink } from "./segment.ts";
import type { SubmitOptions } from "./types.ts";
import { aCost, anyNumber, aString, check, expected, objectWith } from "./validate.ts";

/** An item on its way into the queue. */
export interface Entry {
  /** What the handler will be given. */
  readonly item: unknown;
  readonly key: string | undefined;
  readonly tenant: string;
  readonly cost: number;
  readonly priority: number;
  readonly small: boolean;
  readonly context: unknown;
  readonly time: number;
  sink: Sink;
}

const aSignal = { ...objectWith("addEventListener", "removeEventListener"), expected: "an AbortSignal" };

export class Intake {
  readonly #prepareItem: ((item: unknown) => unknown) | undefined;

  constructor(stages: Stages) {
    this.#prepareItem = stages.prepareItem;
  }

  /** Reads one item. Throws what a user function threw, INVALID_OPTION or ITEM_TOO_LARGE. */
  read(
    item: unknown,
    sink: Sink,
    small: boolean,
    time: number,
    options: ResolvedOptions,
    submit?: SubmitOptions,
  ): Entry {
    const key = submit?.key ?? (options.key === undefined ? undefined : text("key", options.key(item)));
    const cost = submit?.cost ?? (options.cost === undefined ? 1 : options.cost(item));
    if (!(cost >= 0 && cost < Number.POSITIVE_INFINITY)) throw expected("cost", aCost, cost);
    const tenant = options.fairBy === undefined ? "" : text("fairBy", options.fairBy(item));
    const context = submit !== undefined && "context" in submit ? submit.context : options.captureContext?.();
    const handled = this.#prepareItem === undefined ? item : this.#prepareItem(item);
    if (options.maxBatchCost !== Number.POSITIVE_INFINITY) refuseOversize(handled, cost, options);
    return { item: handled, key, tenant, cost, priority: submit?.priority ?? 0, small, context, time, sink };
  }
}

/** Throws INVALID_OPTION unless these are submit options. */
export function checkSubmitOptions(submit: SubmitOptions): void {
  if (submit.signal !== undefined) check("signal", aSignal, submit.signal);
  if (submit.priority !== undefined) check("priority", anyNumber, submit.priority);
  if (submit.timeoutMs !== undefined) check("timeoutMs", anyNumber, submit.timeoutMs);
  if (submit.key !== undefined) check("key", aString, submit.key);
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

function refuseOversize(item: unknown, cost: number, options: ResolvedOptions): void {
  const { batchCost, maxBatchCost, oversize } = options;
  const ownCost = typeof batchCost === "function" ? batchCost([item]) : cost;
  if (!(ownCost >= 0))
    throw expected("batchCost", { ...aCost, expected: "a function that returns a number >= 0" }, ownCost);
  if (ownCost > maxBatchCost && oversize === "reject") throw itemTooLargeError(ownCost, maxBatchCost);
}
