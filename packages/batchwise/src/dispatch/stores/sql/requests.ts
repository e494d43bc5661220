// Reads requests as the contract's rows.

import type { Ended, FindQuery, FindResult, HistoryRow, RequestQuery, RequestRow } from "../../contract/store/rows.ts";
import { withTombstones } from "../../contract/store/tombstone.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Dialect } from "./dialect.ts";
import { candidates, page } from "./finding.ts";
import { atMost } from "./statement.ts";
import { all, type Steps } from "./steps.ts";

interface RawRequest {
  readonly seq: number;
  readonly id: string;
  readonly lane: string;
  readonly priority: number;
  readonly tenant: string;
  readonly job: string;
  readonly created_at: number;
  readonly not_before: number;
  readonly deadline_at: number | null;
  readonly bytes: number;
  readonly tokens: number;
  readonly attempts: number;
  readonly generation: number;
  readonly batch_key: string | null;
  readonly ord: number | null;
  readonly cancel_requested: boolean | number | null;
  readonly cursor: number | null;
  readonly status: OutcomeStatus | null;
  readonly code: string | null;
  readonly ended_in: string | null;
  readonly recorded_at: number | null;
  readonly metadata: string | null;
  readonly body: string | null;
  readonly turns: string | null;
}

const FIELDS = (bodies: boolean): string => `
  r.seq, r.id, l.name AS lane, r.priority, r.tenant, r.job, r.created_at, r.not_before, r.deadline_at, r.bytes,
    r.tokens, r.generation, m.ord, m.cancel_requested, t.metadata, ${bodies ? "t.body, t.turns" : "NULL AS body, NULL AS turns"}`;
const REQUEST = (bodies: boolean): string => `
  SELECT ${FIELDS(bodies)}, coalesce(o.attempts, r.attempts) AS attempts, b.key AS batch_key, o.cursor, o.status, o.code,
    e.key AS ended_in, o.recorded_at`;
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
  const rows = found.map((raw) => requestRow(raw, past === null ? null : (past.get(raw.seq) ?? [])));
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
  const rows = yield* all<Omit<RawRequest, keyof typeof OPEN | "batch_key">>(
    `SELECT ${FIELDS(bodies)}, r.attempts FROM (
       SELECT ord, seq, cancel_requested FROM batchwise_member
       WHERE batch = (SELECT id FROM batchwise_batch WHERE key = ?) AND ord >= ? ORDER BY ord LIMIT ?
     ) m JOIN batchwise_request r ON r.seq = m.seq ${TEXTS} ORDER BY m.ord`,
    ...[batchKey, fromOrd, atMost(limit)],
  );
  return rows.map((row) => ({ ...row, ...OPEN, batch_key: batchKey }));
}

const OPEN = { cursor: null, status: null, code: null, ended_in: null, recorded_at: null } as const;

function requestRow(raw: RawRequest, past: readonly HistoryRow[] | null): RequestRow {
  const unclaimed = raw.cursor === null ? "ready" : "ended";
  return {
    ...{ id: raw.id, lane: raw.lane, state: raw.batch_key === null ? unclaimed : "claimed", priority: raw.priority },
    ...{ tenant: raw.tenant, job: raw.job, arrival: raw.seq, ended: endedOf(raw) },
    ...{ createdAt: raw.created_at, notBefore: raw.not_before, deadlineAt: raw.deadline_at },
    ...{ bytes: raw.bytes, tokens: raw.tokens, attempts: raw.attempts, generation: raw.generation },
    ...{ batchKey: raw.batch_key, ord: raw.ord, cancelRequested: Boolean(raw.cancel_requested) },
    ...{ metadata: raw.metadata, body: raw.body, turns: raw.turns, history: past },
  };
}

function endedOf({ cursor, status, code, ended_in, recorded_at }: RawRequest): Ended | null {
  if (cursor === null || status === null || recorded_at === null) return null;
  return { status, code, batchKey: ended_in, cursor, recordedAt: recorded_at };
}

function* histories(dialect: Dialect, requests: readonly RawRequest[]): Steps<Map<number, HistoryRow[]>> {
  const rows = yield* all<{ seq: number; key: string | null; code: string; at: number }>(
    `SELECT h.seq, b.key, h.code, h.at FROM batchwise_history h LEFT JOIN batchwise_batch b ON b.id = h.batch
     WHERE ${dialect.among("h.seq", "bigint")} ORDER BY h.seq, h.at, abs(h.batch)`,
    requests.map(({ seq }) => seq),
  );
  const past = new Map<number, HistoryRow[]>(requests.map(({ seq }) => [seq, []]));
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
