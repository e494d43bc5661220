// What `requests` answers for a pruned request.

import type { RequestRow } from "./rows.ts";

/**
 * Of the row only the id counts: `ended` with `ended: null` is what tells it from every other one.
 */
export function tombstoneRow(id: string): RequestRow {
  return {
    ...{ id, lane: "", state: "ended", priority: 0, tenant: "", job: "", arrival: 0, createdAt: 0, notBefore: 0 },
    ...{ deadlineAt: null, bytes: 0, tokens: 0, attempts: 0, generation: 0, batchKey: null, ord: null },
    ...{ cancelRequested: false, ended: null, metadata: null, body: null, history: null },
  };
}

/** The rows of these ids, in their order: those given, and those of tombstones. */
export function withTombstones(
  ids: readonly string[],
  rows: readonly RequestRow[],
  isTombstone: (id: string) => boolean,
): RequestRow[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? (isTombstone(id) ? tombstoneRow(id) : []));
}
