// Checks the options of a dispatcher's methods at each call. A misspelt name or a cursor that is
// not a number would otherwise wait for ever. Pure.

import {
  aBoolean,
  aboveZero,
  aCost,
  aString,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  oneOf,
  type Rule,
  refuseUnknown,
  unboundedIntegerFrom,
} from "../../core/contract/validate.ts";
import { TRANSITIONS } from "../batches/life-cycle.ts";
import type { RunDueOptions } from "../contract/operations.ts";
import type {
  BatchFilter,
  DeadLettersOptions,
  OutcomeStatus,
  OutcomesOptions,
  PruneOptions,
  RedeliverOptions,
} from "../contract/types.ts";
import { type OptionTable, type ReadOptions, readOnly, readOptions } from "../format/option-table.ts";

const DEAD_LETTERS_SHOWN = 100;
/** Of `runDue`: shorter runs have no time for a call. */
export const LEAST_RUN_MS = 100;
const STATES = Object.keys(TRANSITIONS);
const STATUSES = ["succeeded", "failed", "cancelled", "expired"] as const;
export const aName: Rule = {
  expected: "a name, not an empty string",
  type: "string",
  test: (value: string) => value !== "",
};
export const aSignal: Rule = {
  expected: "an AbortSignal",
  type: "object",
  test: (value: object) => "aborted" in value,
};

const aBooleanOrPromise: Rule = { ...aBoolean, expected: "a boolean or a promise", or: isThenable };

const SINK_AND_AFTER = {
  sink: [oneOf("callback", "webhook"), "webhook"],
  after: [finiteIntegerFrom(0), 0],
} satisfies OptionTable<RedeliverOptions>;

export interface ResolvedOutcomesOptions {
  readonly after: number;
  readonly untilIdle: boolean | PromiseLike<unknown>;
  /** null: outcomes of all jobs. */
  readonly job: string | null;
}

export function outcomesOptions(options: OutcomesOptions): ResolvedOutcomesOptions {
  return read(options, {
    after: [finiteIntegerFrom(0), 0],
    untilIdle: [aBooleanOrPromise, false],
    job: [aName, null],
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

export function deadLettersOptions(options: DeadLettersOptions): Required<DeadLettersOptions> {
  return read(options, { ...SINK_AND_AFTER, limit: [unboundedIntegerFrom(1), DEAD_LETTERS_SHOWN] });
}

export function redeliverOptions(options: RedeliverOptions): Required<RedeliverOptions> {
  return read(options, SINK_AND_AFTER);
}

/** `statuses: null`: all. `tombstoneRetentionMs: null`: the dispatcher's own. */
export function pruneOptions(options: PruneOptions): {
  olderThanMs: number;
  statuses: OutcomeStatus[] | null;
  tombstoneRetentionMs: number | null;
} {
  checkNames(options ?? {}, ["olderThanMs", "statuses", "tombstoneRetentionMs"]);
  check("olderThanMs", aCost, options?.olderThanMs);
  const { olderThanMs, statuses } = options;
  for (const status of listOf("statuses", statuses)) check("statuses", oneOf(...STATUSES), status);
  const { tombstoneRetentionMs = null } = readOptions(options, { tombstoneRetentionMs: [aboveZero] });
  return { olderThanMs, statuses: statuses === undefined ? null : [...statuses], tombstoneRetentionMs };
}

export function checkResultOptions(options: { readonly signal?: AbortSignal }): void {
  read(options, { signal: [aSignal] });
}

export interface RunDuePlan {
  readonly maxMs: number;
  readonly signal: AbortSignal | undefined;
}

export function runDueOptions(options: RunDueOptions): RunDuePlan {
  const given = read(options ?? {}, { maxMs: [finiteIntegerFrom(LEAST_RUN_MS)], signal: [aSignal] });
  check("maxMs", finiteIntegerFrom(LEAST_RUN_MS), given.maxMs);
  return { maxMs: Number(given.maxMs), signal: given.signal };
}

export function abandonOptions<Options extends { readonly requests: "end" | "requeue" }>(options: Options): Options {
  checkNames(options ?? {}, ["requests"]);
  check("requests", oneOf("end", "requeue"), options?.requests);
  return options;
}

/** Makes a list of one key or many. */
export function keysOf(keys: string | readonly string[]): readonly string[] {
  const list: unknown = typeof keys === "string" ? [keys] : keys;
  const rule = { expected: "a key or an array of keys", type: "object", test: () => false } as const;
  if (!Array.isArray(list)) throw expected("keys", rule, keys);
  for (const key of list) check("keys", aString, key);
  return list;
}

export function checkBatchFilter(filter: BatchFilter): void {
  checkNames(filter, ["keys", "states", "account", "limit"]);
  if (filter.limit !== undefined) check("limit", unboundedIntegerFrom(1), filter.limit);
  for (const state of listOf("states", filter.states)) check("states", oneOf(...STATES), state);
  for (const key of listOf("keys", filter.keys)) check("keys", aString, key);
}

/** Throws INVALID_OPTION; for `options` that are no object, too. */
function read<Given extends object, const Table extends OptionTable<Given>>(
  options: Given,
  table: Table,
): ReadOptions<Given, Table> {
  checkIsObject("options", options);
  return readOnly(options, table);
}

export function checkNames(
  options: object,
  known: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): void {
  checkIsObject("options", options);
  refuseUnknown(options, known, "", hints);
}

export function listOf(name: string, values: readonly unknown[] | undefined): readonly unknown[] {
  if (values === undefined || Array.isArray(values)) return values ?? [];
  throw expected(name, { expected: "an array", type: "object", test: () => false }, values);
}
