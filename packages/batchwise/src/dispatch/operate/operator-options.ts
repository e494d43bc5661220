// Checks the arguments of operator methods at each call. Methods that change many requests refuse
// undefined or empty fields: a variable that was never set must not cancel everything. Pure.

import {
  aBoolean,
  aString,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  invalidOption,
  oneOf,
} from "../../core/contract/validate.ts";
import type {
  CancelFilter,
  PollFilter,
  RequestFilter,
  RequestsOptions,
  RetryFilter,
  RetryRequestsOptions,
  UsageFilter,
} from "../contract/operations.ts";
import type { LaneRef } from "../contract/types.ts";
import { aName, checkNames, listOf } from "../options/call-options.ts";

const REQUESTS_SHOWN = 100;
const OPEN = ["waiting", "in_batch"];
const WITHOUT_SUCCESS = ["failed", "cancelled", "expired"];
const STATUSES = [...OPEN, "succeeded", ...WITHOUT_SUCCESS];

export interface RequestsPlan {
  readonly filter: RequestFilter;
  readonly after: number;
  readonly limit: number;
  readonly bodies: boolean;
}

export function requestsOptions(options: RequestsOptions): RequestsPlan {
  checkNames(options, ["ids", "statuses", "batch", "tenant", "job", "code", "after", "limit", "bodies"]);
  const { after, limit, bodies = false, ...filter } = options;
  check("bodies", aBoolean, bodies);
  if (filter.ids !== undefined && (after !== undefined || limit !== undefined)) {
    throw invalidOption(TypeError, "Expected `ids` without `after` and `limit`: requests by id are not read in pages");
  }
  if (after !== undefined) check("after", finiteIntegerFrom(0), after);
  if (limit !== undefined) check("limit", finiteIntegerFrom(1), limit);
  checkStrings("ids", filter.ids);
  for (const status of listOf("statuses", filter.statuses)) check("statuses", oneOf(...STATUSES), status);
  for (const name of ["batch", "tenant", "job", "code"] as const) {
    if (filter[name] !== undefined) check(name, aString, filter[name]);
  }
  return { filter, after: after ?? 0, limit: limit ?? REQUESTS_SHOWN, bodies };
}

export function cancelWhich(which: readonly string[] | CancelFilter): readonly string[] | CancelFilter {
  return checkWhich("cancel", which, OPEN, ["batch", "tenant", "job"], 'statuses: ["waiting", "in_batch"]');
}

export function retryWhich(which: readonly string[] | RetryFilter): readonly string[] | RetryFilter {
  return checkWhich("retry", which, WITHOUT_SUCCESS, ["batch", "tenant", "job", "code"], 'statuses: ["failed"]');
}

/**
 * A fixed body is allowed for one request only. Several need a function, which gets each request.
 */
export function retryOptions(
  which: readonly string[] | RetryFilter,
  options: RetryRequestsOptions,
): RetryRequestsOptions {
  checkNames(options, ["body"]);
  const { body } = options;
  if (body === undefined || typeof body === "function") return options;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    const rule = { expected: "an object, or a function that returns one", type: "object", test: () => false } as const;
    throw expected("body", rule, body);
  }
  if (Array.isArray(which) && which.length === 1) return options;
  throw invalidOption(TypeError, "A `body` is for one id. For several pass a function: `body: (request) => …`");
}

/** `all`: the text to write for all of them, for the message. */
function checkWhich<Which extends readonly string[] | object>(
  method: string,
  which: Which,
  statuses: readonly string[],
  names: readonly string[],
  all: string,
): Which {
  if (Array.isArray(which)) {
    checkStrings("ids", which);
    return which;
  }
  const rule = { expected: "an id, an array of ids or a filter", type: "object", test: () => false } as const;
  if (typeof which !== "object" || which === null) throw expected("which", rule, which);
  const hints = { ids: `pass the ids themselves: ${method}(ids)` };
  checkNames(which, ["statuses", ...names], hints);
  for (const [name, value] of Object.entries(which)) checkGiven(name, value, statuses);
  if (Object.keys(which).length > 0) return which;
  const some = ["statuses", ...names].map((name) => `\`${name}\``).join(", ");
  throw invalidOption(TypeError, `${method}({}) would be for every request. Give one of ${some}; for all, { ${all} }`);
}

function checkGiven(name: string, value: unknown, statuses: readonly string[]): void {
  if (name !== "statuses") {
    check(name, aName, value);
    return;
  }
  if (!Array.isArray(value) || value.length === 0) {
    throw expected(name, { expected: "an array with statuses in it", type: "object", test: () => false }, value);
  }
  for (const status of value) check(name, oneOf(...statuses), status);
}

export function pollFilter(which: PollFilter): PollFilter {
  checkIsObject("which", which);
  checkNames(which, ["batch", "providerBatchId", "account"]);
  for (const [name, value] of Object.entries(which)) check(name, aName, value);
  if (Object.keys(which).length > 0) return which;
  throw invalidOption(TypeError, "Expected pollNow({ batch, providerBatchId, account }) with one of these at least");
}

export function usageFilter(filter: UsageFilter): UsageFilter {
  checkNames(filter, ["tenant", "job"]);
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) check(name, aString, value);
  return filter;
}

export function laneRef(lane: LaneRef): LaneRef {
  checkIsObject("lane", lane);
  checkNames(lane, ["endpoint", "model"]);
  check("endpoint", aName, lane.endpoint);
  check("model", aName, lane.model);
  return lane;
}

export function checkName(name: string, value: string): void {
  check(name, aName, value);
}

export function reasonOf(reason: string | undefined): string | null {
  if (reason !== undefined) check("reason", aString, reason);
  return reason ?? null;
}

function checkStrings(name: string, values: readonly string[] | undefined): void {
  for (const value of listOf(name, values)) check(name, aString, value);
}
