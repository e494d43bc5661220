// Requests and the outcome log, as the contract's rows. Reads only.

import type {
  Ended,
  FindQuery,
  FindResult,
  HistoryRow,
  OutcomeQuery,
  OutcomeRow,
  RequestQuery,
  RequestRow,
} from "../../contract/rows.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { candidates, page } from "../sql/finding.ts";
import { allOf, atMost, type Connection } from "./database.ts";
import { deliveryStates } from "./deliveries.ts";

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
  readonly cancel_requested: boolean | null;
  readonly cursor: number | null;
  readonly status: OutcomeStatus | null;
  readonly code: string | null;
  readonly ended_in: string | null;
  readonly recorded_at: number | null;
  readonly metadata: string | null;
  readonly body: string | null;
}

const REQUEST = (bodies: boolean): string => `
  SELECT r.seq, r.id, l.name AS lane, r.priority, r.tenant, r.job, r.created_at, r.not_before, r.deadline_at, r.bytes,
    r.tokens, coalesce(o.attempts, r.attempts) AS attempts, r.generation, b.key AS batch_key, m.ord, m.cancel_requested,
    o.cursor, o.status, o.code, e.key AS ended_in, o.recorded_at, t.metadata, ${bodies ? "t.body" : "NULL AS body"}`;
const JOINED = `
  JOIN batchwise_lane l ON l.id = r.lane JOIN batchwise_body t ON t.seq = r.seq
  LEFT JOIN batchwise_outcome o ON o.seq = r.seq LEFT JOIN batchwise_batch e ON e.id = o.batch`;

export async function readRequests(db: Connection, query: RequestQuery): Promise<RequestRow[]> {
  const bodies = query.bodies ?? false;
  const found = "ids" in query ? await byIds(db, query.ids, bodies) : await members(db, query, bodies);
  const past = query.history ? await histories(db, found) : null;
  return found.map((raw) => requestRow(raw, past === null ? null : (past.get(raw.seq) ?? [])));
}

async function byIds(db: Connection, ids: readonly string[], bodies: boolean): Promise<RawRequest[]> {
  const rows = await db.all<RawRequest>(
    `${REQUEST(bodies)} FROM batchwise_request r ${JOINED}
     LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_batch b ON b.id = m.batch
     WHERE r.id = ANY($1::text[])`,
    ...[ids],
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

function members(
  db: Connection,
  { batchKey, fromOrd, limit }: Extract<RequestQuery, { batchKey: string }>,
  bodies: boolean,
): Promise<RawRequest[]> {
  return db.all<RawRequest>(
    `${REQUEST(bodies)} FROM batchwise_batch b JOIN batchwise_member m ON m.batch = b.id
     JOIN batchwise_request r ON r.seq = m.seq ${JOINED} WHERE b.key = $1 AND m.ord >= $2 ORDER BY m.ord LIMIT $3`,
    ...[batchKey, fromOrd, atMost(limit)],
  );
}

function requestRow(raw: RawRequest, past: readonly HistoryRow[] | null): RequestRow {
  const unclaimed = raw.cursor === null ? "ready" : "ended";
  return {
    ...{ id: raw.id, lane: raw.lane, state: raw.batch_key === null ? unclaimed : "claimed", priority: raw.priority },
    ...{ tenant: raw.tenant, job: raw.job, arrival: raw.seq, ended: endedOf(raw) },
    ...{ createdAt: raw.created_at, notBefore: raw.not_before, deadlineAt: raw.deadline_at },
    ...{ bytes: raw.bytes, tokens: raw.tokens, attempts: raw.attempts, generation: raw.generation },
    ...{ batchKey: raw.batch_key, ord: raw.ord, cancelRequested: raw.cancel_requested === true },
    ...{ metadata: raw.metadata, body: raw.body, history: past },
  };
}

function endedOf({ cursor, status, code, ended_in, recorded_at }: RawRequest): Ended | null {
  if (cursor === null || status === null || recorded_at === null) return null;
  return { status, code, batchKey: ended_in, cursor, recordedAt: recorded_at };
}

/** A page of the requests that match. */
export async function findRequests(db: Connection, query: FindQuery): Promise<FindResult> {
  const looked = await allOf<{ seq: number }>(db, candidates(query));
  const seqs = looked.map(({ seq }) => seq);
  const rows = await db.all<RawRequest>(
    `${REQUEST(false)} FROM batchwise_request r ${JOINED}
     LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_batch b ON b.id = m.batch
     WHERE r.seq = ANY($1::bigint[]) AND r.pruned IS NULL ORDER BY r.seq`,
    ...[seqs],
  );
  return page(
    query,
    seqs,
    rows.map((raw) => requestRow(raw, null)),
  );
}

async function histories(db: Connection, requests: readonly RawRequest[]): Promise<Map<number, HistoryRow[]>> {
  const rows = await db.all<{ seq: number; key: string; code: string; at: number }>(
    `SELECT h.seq, b.key, h.code, h.at FROM batchwise_history h JOIN batchwise_batch b ON b.id = h.batch
     WHERE h.seq = ANY($1::bigint[]) ORDER BY h.seq, h.batch`,
    requests.map(({ seq }) => seq),
  );
  const all = new Map<number, HistoryRow[]>(requests.map(({ seq }) => [seq, []]));
  for (const { seq, key, code, at } of rows) all.get(seq)?.push({ batchKey: key, code, at });
  return all;
}

interface RawOutcome {
  readonly cursor: number;
  readonly id: string;
  readonly status: OutcomeStatus;
  readonly payload: string;
  readonly attempts: number;
  readonly generation: number;
  readonly recorded_at: number;
  readonly tenant: string;
  readonly job: string;
  readonly batch_key: string | null;
  readonly code: string | null;
  readonly metadata: string | null;
}

const OUTCOME = `
  SELECT o.cursor, r.id, o.status, o.payload, o.attempts, r.generation, o.recorded_at, r.tenant, r.job, o.code,
    e.key AS batch_key, t.metadata
  FROM batchwise_outcome o JOIN batchwise_request r ON r.seq = o.seq JOIN batchwise_body t ON t.seq = o.seq
  LEFT JOIN batchwise_batch e ON e.id = o.batch`;

export async function readOutcomes(db: Connection, query: OutcomeQuery): Promise<OutcomeRow[]> {
  const raws = "after" in query ? await after(db, query) : await ofIds(db, query.ids);
  if (!query.deliveries) return raws.map((raw) => outcomeRow(raw, null));
  const cursors = raws.map(({ cursor }) => cursor);
  const deliveries = await deliveryStates(db, cursors);
  return raws.map((raw) => outcomeRow(raw, deliveries.get(raw.cursor) ?? []));
}

function after(db: Connection, query: Extract<OutcomeQuery, { after: number }>): Promise<RawOutcome[]> {
  if (query.dead !== undefined) {
    return db.all<RawOutcome>(
      `${OUTCOME} WHERE o.cursor IN (
         SELECT cursor FROM batchwise_delivery WHERE sink = $1 AND state = 'dead' AND cursor > $2
         ORDER BY cursor LIMIT $3
       ) ORDER BY o.cursor`,
      ...[query.dead, query.after, atMost(query.limit)],
    );
  }
  if (query.job !== undefined) {
    return db.all<RawOutcome>(
      `${OUTCOME} WHERE o.job = $1 AND o.cursor > $2 ORDER BY o.cursor LIMIT $3`,
      ...[query.job, query.after, atMost(query.limit)],
    );
  }
  return db.all<RawOutcome>(
    `${OUTCOME} WHERE o.cursor > $1 ORDER BY o.cursor LIMIT $2`,
    ...[query.after, atMost(query.limit)],
  );
}

async function ofIds(db: Connection, ids: readonly string[]): Promise<RawOutcome[]> {
  const rows = await db.all<RawOutcome>(`${OUTCOME} WHERE r.id = ANY($1::text[])`, ids);
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => known.get(id) ?? []);
}

/** The outcomes under these cursors, without their log. */
export async function outcomesAt(db: Connection, cursors: readonly number[]): Promise<Map<number, OutcomeRow>> {
  if (cursors.length === 0) return new Map();
  const rows = await db.all<RawOutcome>(`${OUTCOME} WHERE o.cursor = ANY($1::bigint[])`, cursors);
  return new Map(rows.map((raw) => [raw.cursor, outcomeRow(raw, null)]));
}

function outcomeRow(raw: RawOutcome, deliveries: OutcomeRow["deliveries"]): OutcomeRow {
  const { cursor, id, status, payload, attempts, generation, tenant, job, code, metadata } = raw;
  const facts = { cursor, id, status, payload, attempts, generation, tenant, job, code, metadata };
  const place = { batchKey: raw.batch_key, recordedAt: raw.recorded_at };
  return { ...facts, ...place, deliveries };
}
