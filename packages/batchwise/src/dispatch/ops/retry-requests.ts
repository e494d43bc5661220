// Lets requests run again that ended without success: by id, or all that match. They go back to the lane itself, not to
// the group of a split batch in which they ended.

import { laneProper } from "../contract/lanes.ts";
import type { RetryFilter } from "../contract/operations.ts";
import type { RequestRow } from "../contract/rows.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { inParts, matching } from "./find-requests.ts";

const DEFAULT = ["failed", "expired"] as const;

/** Gives the number of requests that will run again. */
export async function retryRequests(runtime: Runtime, which: readonly string[] | RetryFilter): Promise<number> {
  let count = 0;
  for await (const rows of partsOf(runtime, which)) {
    const { store, sinks, clock, sealing } = runtime;
    const lanes = rows.map(({ lane }) => laneProper(lane));
    const change = { kind: "retry", ids: rows.map(({ id }) => id), lanes } as const;
    const answers = await store.amend(change, sinks, clock.now());
    count += answers.filter(({ result }) => result === "changed").length;
    sealing.wake();
  }
  return count;
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
