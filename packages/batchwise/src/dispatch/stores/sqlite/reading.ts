// Requests, the outcome log and the probe, as the contract's rows. Reads only.

import type {
  Ended,
  FindQuery,
  FindResult,
  HistoryRow,
  LaneRow,
  OutcomeQuery,
  OutcomeRow,
  Probe,
  RequestQuery,
  RequestRow,
} from "../../contract/rows.ts";
import type { BatchState, OutcomeStatus } from "../../contract/types.ts";
import { candidates, page } from "../sql/finding.ts";
import { counters } from "./counters.ts";
import { atMost, type Connection } from "./database.ts";
import { deliveryStates } from "./deliveries.ts";
import { READY_LANES } from "./lanes.ts";
import { ledgerRows } from "./ledgers.ts";

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
  readonly cancel_requested: number | null;
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

export function readRequests(db: Connection, query: RequestQuery): RequestRow[] {
  const bodies = query.bodies ?? false;
  const found = "ids" in query ? byIds(db, query.ids, bodies) : members(db, query, bodies);
  return found.map((raw) => requestRow(raw, query.history ? history(db, raw.seq) : null));
}

function byIds(db: Connection, ids: readonly string[], bodies: boolean): RawRequest[] {
  const sql = `${REQUEST(bodies)} FROM batchwise_request r ${JOINED}
    LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_batch b ON b.id = m.batch WHERE r.id = ?`;
  return ids.flatMap((id) => db.get<RawRequest>(sql, id) ?? []);
}

function members(
  db: Connection,
  { batchKey, fromOrd, limit }: Extract<RequestQuery, { batchKey: string }>,
  bodies: boolean,
): RawRequest[] {
  return db.all<RawRequest>(
    `${REQUEST(bodies)} FROM batchwise_batch b JOIN batchwise_member m ON m.batch = b.id
     JOIN batchwise_request r ON r.seq = m.seq ${JOINED} WHERE b.key = ? AND m.ord >= ? ORDER BY m.ord LIMIT ?`,
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
    ...{ batchKey: raw.batch_key, ord: raw.ord, cancelRequested: raw.cancel_requested === 1 },
    ...{ metadata: raw.metadata, body: raw.body, history: past },
  };
}

function endedOf({ cursor, status, code, ended_in, recorded_at }: RawRequest): Ended | null {
  if (cursor === null || status === null || recorded_at === null) return null;
  return { status, code, batchKey: ended_in, cursor, recordedAt: recorded_at };
}

/** A page of the requests that match. */
export function findRequests(db: Connection, query: FindQuery): FindResult {
  const { sql, values } = candidates(query);
  const seqs = db.all<{ seq: number }>(sql, ...values).map(({ seq }) => seq);
  const rows = db.all<RawRequest>(
    `${REQUEST(false)} FROM json_each(?) j JOIN batchwise_request r ON r.seq = j.value ${JOINED}
     LEFT JOIN batchwise_member m ON m.seq = r.seq LEFT JOIN batchwise_batch b ON b.id = m.batch
     WHERE r.pruned IS NULL ORDER BY r.seq`,
    JSON.stringify(seqs),
  );
  return page(
    query,
    seqs,
    rows.map((raw) => requestRow(raw, null)),
  );
}

function history(db: Connection, seq: number): HistoryRow[] {
  return db
    .all<HistoryRow>(
      `SELECT b.key AS batchKey, h.code, h.at FROM batchwise_history h JOIN batchwise_batch b ON b.id = h.batch
       WHERE h.seq = ? ORDER BY h.batch`,
      seq,
    )
    .map(({ batchKey, code, at }) => ({ batchKey, code, at }));
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

export function readOutcomes(db: Connection, query: OutcomeQuery): OutcomeRow[] {
  const found =
    "after" in query
      ? outcomesAfter(db, query)
      : query.ids.flatMap((id) => db.get<RawOutcome>(`${OUTCOME} WHERE r.id = ?`, id) ?? []);
  return found.map((raw) => outcomeRow(db, raw, query.deliveries ?? false));
}

function outcomesAfter(db: Connection, query: Extract<OutcomeQuery, { after: number }>): RawOutcome[] {
  const { after, limit, dead, job } = query;
  if (job !== undefined) {
    const its = "o.job = ? AND o.job IS NOT NULL AND o.cursor > ?";
    return db.all<RawOutcome>(`${OUTCOME} WHERE ${its} ORDER BY o.cursor LIMIT ?`, job, after, atMost(limit));
  }
  if (dead === undefined) {
    return db.all<RawOutcome>(`${OUTCOME} WHERE o.cursor > ? ORDER BY o.cursor LIMIT ?`, after, atMost(limit));
  }
  return db.all<RawOutcome>(
    `${OUTCOME} WHERE o.cursor IN (
       SELECT cursor FROM batchwise_delivery WHERE sink = ? AND state = 'dead' AND cursor > ? ORDER BY cursor LIMIT ?
     ) ORDER BY o.cursor`,
    ...[dead, after, atMost(limit)],
  );
}

export function readOutcome(db: Connection, cursor: number): OutcomeRow | undefined {
  const raw = db.get<RawOutcome>(`${OUTCOME} WHERE o.cursor = ?`, cursor);
  return raw === undefined ? undefined : outcomeRow(db, raw, false);
}

function outcomeRow(db: Connection, raw: RawOutcome, deliveries: boolean): OutcomeRow {
  const { cursor, id, status, payload, attempts, generation, tenant, job, code, metadata } = raw;
  const facts = { cursor, id, status, payload, attempts, generation, tenant, job, code, metadata };
  const place = { batchKey: raw.batch_key, recordedAt: raw.recorded_at };
  return { ...facts, ...place, deliveries: deliveries ? deliveryStates(db, cursor) : null };
}

export function readProbe(db: Connection, limit: number, now: number): Probe {
  const { cursor, done, waiting, ...outcomes } = counters(db);
  const due = db.get<{ at: number | null }>(
    "SELECT min(next_at) AS at FROM batchwise_delivery WHERE state = 'waiting'",
  );
  const lanes = db.all<{ id: number; name: string }>(
    `${READY_LANES} SELECT l.id, l.name FROM lanes JOIN batchwise_lane l ON l.id = lanes.id`,
  );
  return {
    lanes: lanes.map(({ id, name }) => laneRow(db, id, name, limit, now)),
    ledgers: ledgerRows(db, now),
    ...batchFigures(db, done),
    outcomes,
    cursor,
    deliveriesWaiting: waiting,
    deliveryDueAt: due?.at ?? null,
  };
}

interface LaneSums {
  readonly ready: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly oldest: number | null;
  readonly since: number | null;
}

/** Sums over the first of a lane that may go: of those in claim order, or of those that no seal has woken yet. */
function laneSums(db: Connection, id: number, limit: number, now: number, which: "in order" | "woken"): LaneSums {
  const some =
    which === "in order"
      ? "later = 0 AND not_before <= ? ORDER BY priority DESC, rank, seq"
      : "later = 1 AND not_before <= ?";
  const sums = db.get<LaneSums>(
    `SELECT count(*) AS ready, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(tokens), 0) AS tokens,
       min(created_at) AS oldest, min(max(created_at, not_before)) AS since
     FROM (SELECT bytes, tokens, created_at, not_before FROM batchwise_ready WHERE lane = ? AND ${some} LIMIT ?)`,
    ...[id, now, atMost(limit)],
  );
  return sums ?? { ready: 0, bytes: 0, tokens: 0, oldest: null, since: null };
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function laneRow(db: Connection, id: number, lane: string, limit: number, now: number): LaneRow {
  const first = laneSums(db, id, limit, now, "in order");
  const woken = laneSums(db, id, limit - first.ready, now, "woken");
  const deadline = db.get<{ at: number | null }>(
    "SELECT min(deadline_at) AS at FROM batchwise_ready WHERE lane = ? AND deadline_at IS NOT NULL",
    id,
  );
  const deferred = db.get<{ at: number | null }>(
    "SELECT min(not_before) AS at FROM batchwise_ready WHERE lane = ? AND later = 1 AND not_before > ?",
    ...[id, now],
  );
  return {
    ...{
      lane,
      ready: first.ready + woken.ready,
      bytes: first.bytes + woken.bytes,
      tokens: first.tokens + woken.tokens,
    },
    ...{ oldestAt: earlier(first.oldest, woken.oldest), readySince: earlier(first.since, woken.since) },
    ...{ deadlineAt: deadline?.at ?? null, deferredUntil: deferred?.at ?? null },
  };
}

function batchFigures(db: Connection, done: number): Pick<Probe, "batches" | "inBatches" | "batchDueAt"> {
  const batches: Record<BatchState, number> = {
    ...{ sealed: 0, submitting: 0, unknown: 0, waiting_capacity: 0, submitted: 0 },
    ...{ running: 0, collecting: 0, quarantined: 0, done },
  };
  let inBatches = 0;
  const states = db.all<{ state: BatchState; count: number; remaining: number }>(
    `SELECT state, count(*) AS count, sum(remaining) AS remaining FROM batchwise_batch
     WHERE state <> 'done' GROUP BY state`,
  );
  for (const { state, count, remaining } of states) {
    batches[state] = count;
    inBatches += remaining;
  }
  const due = db.get<{ at: number | null }>(
    `SELECT min(max(next_at, lease_until)) AS at FROM batchwise_batch
     WHERE state <> 'done' AND state <> 'quarantined'`,
  );
  return { batches, inBatches, batchDueAt: due?.at ?? null };
}
