// Reads requests as the contract's rows.

import type { FindQuery, FindResult, HistoryRow, RequestQuery, RequestRow } from "../../contract/store/rows.ts";
import { withTombstones } from "../../contract/store/tombstone.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Dialect } from "./dialect.ts";
import { candidates, page } from "./finding.ts";
import { atMost } from "./statement.ts";
import { all, type Steps } from "./steps.ts";

type Row = Omit<RequestRow, "state" | "ended" | "history" | "cancelRequested">;

/** Without an outcome, its fields are null. */
interface RawRequest extends Row {
  readonly wish: boolean | number | null;
  readonly cursor: number | null;
  readonly status: OutcomeStatus | null;
  readonly code: string | null;
  readonly endedIn: string | null;
  readonly recordedAt: number | null;
}

const FIELDS = (bodies: boolean): string => `
  r.seq AS arrival, r.id, l.name AS lane, r.priority, r.tenant, r.job, r.bytes, r.tokens, r.generation, m.ord,
    r.created_at AS "createdAt", r.not_before AS "notBefore", r.deadline_at AS "deadlineAt",
    m.cancel_requested AS wish, t.metadata, ${bodies ? "t.body, t.turns" : "NULL AS body, NULL AS turns"}`;
const REQUEST = (bodies: boolean): string => `
  SELECT ${FIELDS(bodies)}, coalesce(o.attempts, r.attempts) AS attempts, b.key AS "batchKey", o.cursor, o.status, o.code,
    e.key AS "endedIn", o.recorded_at AS "recordedAt"`;
const TEXTS = "JOIN batchwise_lane l ON l.id = r.lane JOIN batchwise_body t ON t.seq = r.seq";
const JOINED = `
  ${TEXTS} LEFT JOIN batchwise_outcome o ON o.seq = r.seq LEFT JOIN batchwise_batch e ON e.id = o.batch`;
const MEMBERSHIP = `
  LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_batch b ON b.id = m.batch`;

/** In the order of the ids or of the batch. Includes pruned ids only on demand. */
export function* readRequests(dialect: Dialect, query: RequestQuery): Steps<RequestRow[]> {
  const bodies = query.bodies ?? false;
  const found = "ids" in query ? yield* byIds(dialect, query.ids, bodies) : yield* members(query, bodies);
  const past = query.history ? yield* histories(dialect, found) : null;
  const rows = found.map((raw) => requestRow(raw, past === null ? null : (past.get(raw.arrival) ?? [])));
  return "ids" in query && query.tombstones ? yield* tombstones(dialect, query.ids, rows) : rows;
}

function* byIds(dialect: Dialect, ids: readonly string[], bodies: boolean): Steps<RawRequest[]> {
  const rows = yield* all<RawRequest>(
    `${REQUEST(bodies)} FROM batchwise_request r ${JOINED} ${MEMBERSHIP} WHERE ${dialect.among("r.id", "text")}`,
    ids,
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

/**
 * Limits the page before any join: otherwise Postgres joins and sorts all remaining members with
 * their bodies. Members have no outcome, so that join is left out, which saves planning for an
 * upload's many pages.
 */
function* members(
  { batchKey, fromOrd, limit }: Extract<RequestQuery, { batchKey: string }>,
  bodies: boolean,
): Steps<RawRequest[]> {
  const rows = yield* all<Omit<RawRequest, keyof typeof OPEN | "batchKey">>(
    `SELECT ${FIELDS(bodies)}, r.attempts FROM (
       SELECT ord, seq, cancel_requested FROM batchwise_member
       WHERE batch = (SELECT id FROM batchwise_batch WHERE key = ?) AND ord >= ? ORDER BY ord LIMIT ?
     ) m JOIN batchwise_request r ON r.seq = m.seq ${TEXTS} ORDER BY m.ord`,
    ...[batchKey, fromOrd, atMost(limit)],
  );
  return rows.map((row) => ({ ...row, ...OPEN, batchKey }));
}

const OPEN = { cursor: null, status: null, code: null, endedIn: null, recordedAt: null } as const;

function requestRow(raw: RawRequest, past: readonly HistoryRow[] | null): RequestRow {
  const { wish, cursor, status, code, endedIn, recordedAt, ...row } = raw;
  const isOver = cursor !== null && status !== null && recordedAt !== null;
  const unclaimed = isOver ? "ended" : "ready";
  return {
    ...row,
    state: row.batchKey === null ? unclaimed : "claimed",
    ended: isOver ? { status, code, batchKey: endedIn, cursor, recordedAt } : null,
    ...{ cancelRequested: Boolean(wish), history: past },
  };
}

function* histories(dialect: Dialect, requests: readonly RawRequest[]): Steps<Map<number, HistoryRow[]>> {
  const rows = yield* all<{ seq: number; key: string | null; code: string; at: number }>(
    `SELECT h.seq, b.key, h.code, h.at FROM batchwise_history h LEFT JOIN batchwise_batch b ON b.id = h.batch
     WHERE ${dialect.among("h.seq", "bigint")} ORDER BY h.seq, h.at, abs(h.batch)`,
    requests.map(({ arrival }) => arrival),
  );
  const past = new Map<number, HistoryRow[]>(requests.map(({ arrival }) => [arrival, []]));
  for (const { seq, key, code, at } of rows) past.get(seq)?.push({ batchKey: key, code, at });
  return past;
}

/** Adds rows for the pruned ids. */
function* tombstones(dialect: Dialect, ids: readonly string[], rows: readonly RequestRow[]): Steps<RequestRow[]> {
  const pruned = yield* all<{ id: string }>(
    `SELECT id FROM batchwise_request WHERE ${dialect.among("id", "text")} AND pruned IS NOT NULL`,
    ids,
  );
  const known = new Set(pruned.map(({ id }) => id));
  return withTombstones(ids, rows, (id) => known.has(id));
}

/** A page of matching requests. */
export function* findRequests(dialect: Dialect, query: FindQuery): Steps<FindResult> {
  if (query.match.states?.length === 0) return { rows: [], next: null };
  const { sql, values } = candidates(dialect, query);
  const seqs = (yield* all<{ seq: number }>(sql, ...values)).map(({ seq }) => seq);
  const raws = yield* all<RawRequest>(
    `${REQUEST(false)} FROM batchwise_request r ${JOINED} ${MEMBERSHIP}
     WHERE ${dialect.among("r.seq", "bigint")} AND r.pruned IS NULL ORDER BY r.seq`,
    seqs,
  );
  const rows = raws.map((raw) => requestRow(raw, null));
  return page(query, seqs, rows);
}
