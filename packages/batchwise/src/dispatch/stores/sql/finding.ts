// Finding requests: where to look, and what of it matches. A call looks at a bounded number of requests, in order of
// arrival: those of the batch, the code or the job that is asked for, which have indexes, or all.

import type { FindQuery, FindResult, RequestMatch, RequestRow } from "../../contract/rows.ts";
import type { Statement } from "./statement.ts";

/** Fewest that a call looks at, if there are so many. */
const LOOK = 1_000;

/** How many the call looks at. */
function lookOf({ limit }: FindQuery): number {
  return Math.max(LOOK, limit + 1);
}

/** The arrivals of those to look at, in order. */
export function candidates(query: FindQuery): Statement {
  const { match, after } = query;
  const look = lookOf(query);
  if (match.batchKey !== undefined) {
    const batch = "(SELECT id FROM batchwise_batch WHERE key = ?)";
    const sql = `SELECT seq FROM (
        SELECT seq FROM batchwise_member WHERE batch = ${batch} UNION ALL SELECT seq FROM batchwise_outcome WHERE batch = ${batch}
      ) AS its WHERE seq > ? ORDER BY seq LIMIT ?`;
    return { sql, values: [match.batchKey, match.batchKey, after, look] };
  }
  const [table, filter, value] = sourceOf(match);
  const values = value === null ? [after, look] : [value, after, look];
  return { sql: `SELECT seq FROM ${table} WHERE ${filter} seq > ? ORDER BY seq LIMIT ?`, values };
}

function sourceOf({ code, job }: RequestMatch): readonly [table: string, filter: string, value: string | null] {
  if (code !== undefined) return ["batchwise_outcome", "code = ? AND", code];
  // The index has only requests with a job.
  if (job !== undefined && job !== "") return ["batchwise_request", "job = ? AND job <> '' AND", job];
  return ["batchwise_request", "", null];
}

/** The page out of what was looked at. `seqs` are the candidates, `rows` those of them that are there. */
export function page(query: FindQuery, seqs: readonly number[], rows: readonly RequestRow[]): FindResult {
  const found = rows.filter((row) => matches(row, query.match));
  if (found.length > query.limit) {
    const some = found.slice(0, query.limit);
    return { rows: some, next: some.at(-1)?.arrival ?? query.after };
  }
  return { rows: found, next: seqs.length < lookOf(query) ? null : (seqs.at(-1) ?? null) };
}

function matches({ state, batchKey, tenant, job, ended }: RequestRow, match: RequestMatch): boolean {
  const where = state === "ended" ? (ended?.status ?? "failed") : state;
  return (
    (match.states?.includes(where) ?? true) &&
    (match.batchKey === undefined || match.batchKey === (batchKey ?? ended?.batchKey)) &&
    (match.tenant === undefined || match.tenant === tenant) &&
    (match.job === undefined || match.job === job) &&
    (match.code === undefined || match.code === ended?.code)
  );
}
