// Finds requests: chooses the index, and the condition. A call reads a bounded number of requests
// in arrival order: by batch, code, job or state, which have indexes, or all.

import { matches } from "../../contract/store/finding.ts";
import type { FindQuery, FindResult, RequestMatch, RequestRow } from "../../contract/store/rows.ts";
import type { Dialect } from "./dialect.ts";
import { atMost, type Statement } from "./statement.ts";

/** Minimum number of requests that a call looks at, if there are that many. */
const LOOK = 1_000;

/** How many requests the call looks at. */
function lookOf({ limit }: FindQuery): number {
  return Math.max(LOOK, limit + 1);
}

/** The arrivals of the requests to look at, in order. */
export function candidates(dialect: Dialect, query: FindQuery): Statement {
  const look = lookOf(query);
  const sources = sourcesOf(dialect, query, look);
  const all = sources.map(({ sql }, n) => `SELECT seq FROM (${sql}) AS source${n}`).join(" UNION ALL ");
  return {
    sql: `SELECT seq FROM (${all}) AS sources ORDER BY seq LIMIT ?`,
    values: [...sources.flatMap(({ values }) => values), look],
  };
}

/**
 * Statements for the sources. Each returns at most as many rows as are looked at, except members of
 * a batch, which have no index in this order.
 */
function sourcesOf(dialect: Dialect, { match, after }: FindQuery, look: number): Statement[] {
  const { batchKey, code, job, states } = match;
  const arrivals = (table: string): Statement => ({
    sql: `SELECT seq FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ?`,
    values: [after, look],
  });
  const ofIts = (table: string, column: string, value: string, filter = ""): Statement => ({
    sql: `SELECT seq FROM ${table} WHERE ${filter} ${dialect.ofOne(column, "seq", "?")} LIMIT ?`,
    values: [value, after, value, look],
  });
  if (batchKey !== undefined) {
    const batch = "(SELECT id FROM batchwise_batch WHERE key = ?)";
    return [
      // The limit keeps Postgres from scanning the members of all batches in arrival order.
      {
        sql: `SELECT seq FROM (SELECT seq FROM batchwise_member WHERE batch = ${batch} LIMIT ?) AS its WHERE seq > ?`,
        values: [batchKey, atMost(Number.POSITIVE_INFINITY), after],
      },
      {
        sql: `SELECT seq FROM batchwise_outcome WHERE ${dialect.ofOne("batch", "seq", batch)} LIMIT ?`,
        values: [batchKey, after, batchKey, look],
      },
    ];
  }
  if (code !== undefined) return [ofIts("batchwise_outcome", "code", code)];
  // The index contains only requests with a job.
  if (job !== undefined && job !== "") return [ofIts("batchwise_request", "job", job, "job <> '' AND")];
  if (states === undefined) return [arrivals("batchwise_request")];
  return [...new Set(states)].map((state) => {
    const table = TABLES[state];
    return table === undefined ? ofIts("batchwise_outcome", "status", state) : arrivals(table);
  });
}

/** Tables of requests that have not ended. */
const TABLES: Partial<Record<NonNullable<RequestMatch["states"]>[number], string>> = {
  ready: "batchwise_ready",
  claimed: "batchwise_member",
};

/** The page of matching rows. `seqs`: the candidates; `rows`: the existing ones. */
export function page(query: FindQuery, seqs: readonly number[], rows: readonly RequestRow[]): FindResult {
  const found = rows.filter((row) => matches(row, row.ended, query.match));
  if (found.length > query.limit) {
    const some = found.slice(0, query.limit);
    return { rows: some, next: some.at(-1)?.arrival ?? query.after };
  }
  return { rows: found, next: seqs.length < lookOf(query) ? null : (seqs.at(-1) ?? null) };
}
