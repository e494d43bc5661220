// Retries requests that ended without success: by id, or all that match. They return to the
// ordinary lane, not to the group of a split batch; those with a corrected body to the lane of that
// body.

import { laneProper } from "../contract/lanes.ts";
import type { RetryFilter, RetryRequestsOptions } from "../contract/operations.ts";
import type { NewRequest, RequestRow } from "../contract/rows.ts";
import type { Amendment } from "../contract/store.ts";
import type { DispatchRequest } from "../contract/types.ts";
import { parseLane } from "../format/encode.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { inParts, matching, withBodies } from "./find-requests.ts";

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
    const change = body === undefined ? asTheyAre(rows) : await corrected(runtime, rows, body, rowOf);
    const answers = await store.amend(change, sinks, clock.now());
    count += answers.filter(({ result }) => result === "changed").length;
    sealing.wake();
  }
  return count;
}

function asTheyAre(rows: readonly RequestRow[]): Retry {
  return { kind: "retry", ids: rows.map(({ id }) => id), lanes: rows.map(({ lane }) => laneProper(lane)) };
}

/** Calls the user's function only for requests that can run again. */
async function corrected(
  runtime: Runtime,
  rows: readonly RequestRow[],
  body: NonNullable<RetryRequestsOptions["body"]>,
  rowOf: RowOf,
): Promise<Retry> {
  const ended = rows.filter(({ ended }) => ended !== null && ended.status !== "succeeded").map(({ id }) => id);
  const payers = new Map(rows.map(({ id, lane }) => [id, parseLane(lane).payers]));
  const corrections: NewRequest[] = [];
  for (const request of await withBodies(runtime, ended)) {
    const { id, endpoint } = request;
    const given = typeof body === "function" ? await body(request) : body;
    corrections.push(rowOf({ id, endpoint, body: given }, payers.get(id) ?? []));
  }
  const [ids, lanes] = [corrections.map(({ id }) => id), corrections.map(({ lane }) => lane)];
  return { kind: "retry", ids, lanes, corrections: corrections.map(correctionOf) };
}

function correctionOf({ digest, bytes, tokens, body, price }: NewRequest): NonNullable<Retry["corrections"]>[number] {
  return { digest, bytes, tokens, body, ...(price === undefined ? {} : { price }) };
}

async function* partsOf(
  runtime: Runtime,
  which: readonly string[] | RetryFilter,
): AsyncGenerator<readonly RequestRow[]> {
  if (isList(which)) for (const ids of inParts(which)) yield await runtime.store.requests({ ids });
  else yield* matching(runtime, { ...which, statuses: which.statuses ?? DEFAULT });
}

function isList(which: readonly string[] | RetryFilter): which is readonly string[] {
  return Array.isArray(which);
}
