// Matches requests with a filter. Pure.

import type { RequestMatch } from "../../contract/store/rows.ts";
import type { MemoryRequest } from "./records.ts";

/** True if the request matches all given fields. */
export function matches(request: MemoryRequest, match: RequestMatch): boolean {
  const { state, outcome } = request;
  const status = state === "ended" ? (outcome?.status ?? "failed") : state;
  const batchKey = request.batchKey ?? outcome?.batchKey;
  return (
    (match.states?.includes(status) ?? true) &&
    (match.batchKey === undefined || match.batchKey === batchKey) &&
    (match.tenant === undefined || match.tenant === request.tenant) &&
    (match.job === undefined || match.job === request.job) &&
    (match.code === undefined || match.code === outcome?.code)
  );
}
