// Rows of `requests` for pruned requests.

import type { RequestRow } from "./rows.ts";

/** Only the id is valid. `ended` state with `ended: null` identifies it. */
export function tombstoneRow(id: string): RequestRow {
  return {
    ...{ id, lane: "", state: "ended", priority: 0, tenant: "", job: "", arrival: 0, createdAt: 0, notBefore: 0 },
    ...{ deadlineAt: null, bytes: 0, tokens: 0, attempts: 0, generation: 0, batchKey: null, ord: null },
    ...{ cancelRequested: false, ended: null, metadata: null, body: null, turns: null, history: null },
  };
}

/** The rows of these ids in order: the given rows, and tombstones. */
export function withTombstones(
  ids: readonly string[],
  rows: readonly RequestRow[],
  isTombstone: (id: string) => boolean,
): RequestRow[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? (isTombstone(id) ? tombstoneRow(id) : []));
}
