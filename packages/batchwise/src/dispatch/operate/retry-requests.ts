// Retries requests that ended without success: by id, or all that match. They return to the
// ordinary lane, not to the group of a split batch; those with a corrected body to the lane of that
// body.

import { DispatchError } from "../contract/errors.ts";
import type { RetryFilter, RetryRequestsOptions } from "../contract/operations.ts";
import type { Amendment } from "../contract/store/calls.ts";
import { laneProper } from "../contract/store/lanes.ts";
import type { NewRequest, RequestRow } from "../contract/store/rows.ts";
import type { DispatchRequest } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import { payersOf as limitedBy } from "../prices/max-price.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { filtered, inParts, withBodies } from "./find-requests.ts";

const DEFAULT = ["failed", "expired"] as const;

/** Checks a request like `enqueue` and returns its row, for these payers. */
export type RowOf = (request: DispatchRequest, payers: readonly string[]) => NewRequest;

type Retry = Extract<Amendment, { kind: "retry" }>;

/** Returns the number of requests that will run again. */
export async function retryRequests(
  runtime: Runtime,
  which: readonly string[] | RetryFilter,
  { body }: RetryRequestsOptions,
  rowOf: RowOf,
): Promise<number> {
  let count = 0;
  for await (const rows of partsOf(runtime, which)) {
    const { store, sinks, clock, sealing } = runtime;
    const change = body === undefined ? asTheyAre(runtime, rows) : await corrected(runtime, rows, body, rowOf);
    const answers = await store.amend(change, sinks, clock.now());
    count += answers.filter(({ result }) => result === "changed").length;
    sealing.wake();
  }
  return count;
}

/** Throws for a request that a limit of this process would not count: its row has no price. */
function asTheyAre(runtime: Runtime, rows: readonly RequestRow[]): Retry {
  const unpaid = rows.find((row) => mayRunAgain(row) && !payersOf(runtime, row).every((name) => isPayer(row, name)));
  if (unpaid !== undefined) throw unpaidError(unpaid.id);
  return { kind: "retry", ids: rows.map(({ id }) => id), lanes: rows.map(({ lane }) => laneProper(lane)) };
}

/** Calls the user's function only for requests that can run again. */
async function corrected(
  runtime: Runtime,
  rows: readonly RequestRow[],
  body: NonNullable<RetryRequestsOptions["body"]>,
  rowOf: RowOf,
): Promise<Retry> {
  const ended = rows.filter(mayRunAgain).map(({ id }) => id);
  const payers = new Map(rows.map((row) => [row.id, payersOf(runtime, row)]));
  const corrections: NewRequest[] = [];
  for (const request of await withBodies(runtime, ended)) {
    const { id, endpoint } = request;
    const given = typeof body === "function" ? await body(request) : body;
    corrections.push(rowOf({ id, endpoint, body: given }, payers.get(id) ?? []));
  }
  const [ids, lanes] = [corrections.map(({ id }) => id), corrections.map(({ lane }) => lane)];
  return { kind: "retry", ids, lanes, corrections: corrections.map(correctionOf) };
}

function mayRunAgain({ ended }: RequestRow): boolean {
  return ended !== null && ended.status !== "succeeded";
}

/** The payers of its lane, and payers that have got a limit since. */
function payersOf({ options }: Runtime, { lane, tenant, job }: RequestRow): readonly string[] {
  const names = limitedBy(options.maxPrice, tenant, job).map(({ name }) => name);
  return [...new Set([...parseLane(lane).payers, ...names])];
}

function isPayer({ lane }: RequestRow, name: string): boolean {
  return parseLane(lane).payers.includes(name);
}

function unpaidError(id: string): DispatchError {
  const what = `The request "${id}" was enqueued without the limit of its job or tenant, and would not count against it`;
  return new DispatchError("PRICE_LIMIT", `${what}: give its body, \`retry(..., { body: ({ body }) => body })\`.`);
}

function correctionOf({ digest, bytes, tokens, body, price }: NewRequest): NonNullable<Retry["corrections"]>[number] {
  return { digest, bytes, tokens, body, ...(price === undefined ? {} : { price }) };
}

async function* partsOf(
  runtime: Runtime,
  which: readonly string[] | RetryFilter,
): AsyncGenerator<readonly RequestRow[]> {
  if (isList(which)) for (const ids of inParts(which)) yield await runtime.store.requests({ ids });
  else yield* filtered(runtime, { ...which, statuses: which.statuses ?? DEFAULT });
}

function isList(which: readonly string[] | RetryFilter): which is readonly string[] {
  return Array.isArray(which);
}
