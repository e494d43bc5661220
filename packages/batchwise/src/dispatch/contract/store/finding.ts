// Whether a request meets a filter, for stores that look at each. Pure.

import type { Ended, RequestMatch, RequestRow } from "./rows.ts";

/** `ended`: how it has ended; null if it has not, or its outcome is gone. */
export function matches(
  { state, batchKey, tenant, job }: Pick<RequestRow, "state" | "batchKey" | "tenant" | "job">,
  ended: Pick<Ended, "status" | "code" | "batchKey"> | null,
  match: RequestMatch,
): boolean {
  const where = state === "ended" ? (ended?.status ?? "failed") : state;
  return (
    (match.states?.includes(where) ?? true) &&
    (match.batchKey === undefined || match.batchKey === (batchKey ?? ended?.batchKey)) &&
    (match.tenant === undefined || match.tenant === tenant) &&
    (match.job === undefined || match.job === job) &&
    (match.code === undefined || match.code === ended?.code)
  );
}
