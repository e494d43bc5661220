// Reads an item and the options of its submit. Calls the user's functions on the caller's time and
// in the caller's async context; their errors concern only this item. Reads everything once.

import type { BatchObserver } from "../contract/observer.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { SubmitManyOptions, SubmitOptions } from "../contract/types.ts";
import {
  aCost,
  anyNumber,
  aString,
  BY_INDEX,
  check,
  checkIsObject,
  expected,
  isCost,
  objectWith,
  type Rule,
  rangeError,
  refuseUnknown,
} from "../contract/validate.ts";
import type { Entry } from "../queue/entry.ts";
import { PATIENT, type Patience } from "./callers.ts";

export const aSignal: Rule = { ...objectWith("addEventListener", "removeEventListener"), expected: "an AbortSignal" };

/** The same names as in `isName`. */
const SUBMIT_OPTIONS: readonly string[] = ["priority", "signal", "timeoutMs", "key", "cost", "context"];

/** The cost of an item whose submit gives none. */
const NO_COST = -1;

/**
 * Reads the options of a submit, each once: a getter may return another value the next time. Throws
 * INVALID_OPTION.
 */
export function readSubmit(submit: SubmitOptions | undefined, entry: Entry): Patience {
  entry.cost = NO_COST;
  if (submit === undefined) return PATIENT;
  checkIsObject("options", submit, BY_INDEX);
  const { signal } = submit;
  if (signal !== undefined) {
    check("signal", aSignal, signal);
    // Its caller has left: no other option matters, not even an invalid one.
    if (signal.aborted) return { signal, timeoutMs: undefined };
  }
  checkNames(submit);
  const timeoutMs = readNumbers(submit, entry);
  readFacts(submit, entry);
  return signal === undefined && timeoutMs === undefined ? PATIENT : { signal, timeoutMs };
}

function readFacts({ key, context }: SubmitOptions, entry: Entry): void {
  if (key !== undefined) {
    check("key", aString, key);
    entry.ownFacts.key = key;
  }
  if (context !== undefined) entry.ownFacts.context = context;
}

/** Returns the `timeoutMs`. */
function readNumbers({ priority, cost, timeoutMs }: SubmitOptions, entry: Entry): number | undefined {
  if (priority !== undefined) {
    if (!Number.isFinite(priority)) check("priority", anyNumber, priority);
    entry.priority = priority;
  }
  if (cost !== undefined) {
    if (!isCost(cost)) throw rangeError("cost", aCost, cost);
    entry.cost = cost;
  }
  if (timeoutMs !== undefined) check("timeoutMs", anyNumber, timeoutMs);
  return timeoutMs;
}

function checkNames(submit: object): void {
  for (const name in submit) if (!isName(name)) refuseUnknown(submit, SUBMIT_OPTIONS);
}

/** Comparing names of a `for in` takes less time than a search in a list. */
function isName(name: string): boolean {
  if (name === "priority" || name === "signal" || name === "timeoutMs") return true;
  return name === "key" || name === "cost" || name === "context";
}

export type CallOptions = SubmitManyOptions<unknown> | undefined;

/**
 * The options of a call, each read once, not yet checked. Throws INVALID_OPTION for an unknown one.
 */
export function readCallOptions(submit: CallOptions): CallOptions {
  if (submit === undefined) return undefined;
  checkIsObject("options", submit, BY_INDEX);
  checkNames(submit);
  const { signal, priority, cost, timeoutMs, key, context } = submit;
  return { signal, priority, cost, timeoutMs, key, context };
}

/** The options of a call for one item. */
export function optionsOfItem(options: CallOptions, item: unknown): SubmitOptions | undefined {
  if (options === undefined) return undefined;
  const { cost, priority } = options;
  return {
    ...options,
    cost: typeof cost === "function" ? checked("cost", aCost, cost(item)) : cost,
    priority: typeof priority === "function" ? checked("priority", anyNumber, priority(item)) : priority,
  };
}

interface OwnEstimate {
  readonly estimateTokens?: unknown;
  readonly estimateCost?: unknown;
}

/**
 * The cost of an item by the option `cost`, or by its own estimate if a cap needs one. Throws
 * INVALID_OPTION.
 */
function costOf(item: unknown, { cost, maxBatchCost, learnsBatchCost }: ResolvedOptions): number {
  const isCapped = maxBatchCost !== Infinity || learnsBatchCost;
  const own: unknown = cost !== oneEach ? cost(item) : isCapped ? estimateOf(item) : 1;
  if (isCost(own)) return own;
  throw unusable(rangeError, "cost", aCost, own);
}

/** The item's own estimate of its cost; 1 if it has none. */
export function estimateOf(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return 1;
  const { estimateTokens, estimateCost } = item as OwnEstimate;
  if (typeof estimateTokens === "function") return estimateTokens.call(item);
  return typeof estimateCost === "function" ? estimateCost.call(item) : 1;
}

/** Reads the key of an item whose submit gives none, if keys are used. */
export function readKey(entry: Entry, { key }: ResolvedOptions): void {
  if (key !== undefined && entry.key === undefined) entry.ownFacts.key = text("key", key(entry.item));
}

/** Reads the cost of an item whose submit gives none. */
export function readCost(entry: Entry, options: ResolvedOptions): void {
  if (entry.cost === NO_COST) entry.cost = costOf(entry.item, options);
}

/** Reads the other facts that the queue needs. */
export function readItem(entry: Entry, options: ResolvedOptions): void {
  const { fairBy, captureContext } = options;
  readCost(entry, options);
  if (fairBy !== undefined) entry.ownFacts.tenant = text("fairBy", fairBy(entry.item));
  if (captureContext === undefined || entry.facts.context !== undefined) return;
  const context: unknown = captureContext();
  entry.ownFacts.context = context;
  // The context may be a promise.
  ignoreIfPromise(context);
}

/** Adds the current caller to the callers of an entry, for the observer. */
export function capture(entry: Entry, observer: BatchObserver | null): void {
  if (observer?.capture !== undefined) entry.ownFacts.captured = observer.capture(entry.facts.captured);
}

/** The dedupe key of an item. */
export function dedupeKeyOf(dedupe: (item: unknown) => string, item: unknown): string {
  return text("dedupe", dedupe(item));
}

const aText: Rule = { ...aString, expected: "a function that returns a string" };

function text(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw unusable(expected, name, aText, value);
}

/** The return value of a function of the item. Throws INVALID_OPTION if it breaks the rule. */
function checked(name: string, rule: Rule, value: unknown): number {
  if (typeof value === "number" && rule.test(value as never)) return value;
  throw unusable(rangeError, name, rule, value);
}

/** The error for an invalid return value. A promise among them is ignored. */
function unusable(error: typeof expected, name: string, rule: Rule, value: unknown): Error {
  ignoreIfPromise(value);
  return error(name, rule, value);
}

/** The cost of a batch of only this item, by the option `batchCost`. Throws INVALID_OPTION. */
export function ownCost(item: unknown, batchCost: (items: readonly unknown[]) => number): number {
  const own: unknown = batchCost([item]);
  if (typeof own === "number" && own >= 0) return own;
  throw unusable(rangeError, "batchCost", { ...aCost, expected: "a function that returns a number >= 0" }, own);
}

/** Returns an item's dedupe key, which was read before. */
export type ReadDedupeKey = () => string;

/** Reads a value at once. The returned function returns it, or throws the error of the read. */
export function readOnce<Value>(read: () => Value): () => Value {
  try {
    const value = read();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Counts distinct keys. Equal keys of different lanes count as one; an item whose key could not be
 * read needs no place.
 */
export function countDifferent(keys: readonly ReadDedupeKey[]): number {
  const different = new Set<string>();
  for (const key of keys) {
    try {
      different.add(key());
    } catch {
      // The item is refused when it is accepted.
    }
  }
  return different.size;
}
