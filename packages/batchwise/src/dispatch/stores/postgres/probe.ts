// What there is to do, as one look at one state of the data. Reads only.

import type { LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { batchFigures } from "../sql/batches.ts";
import { READY_LANES, reckoned, SAMPLE } from "../sql/lanes.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";

export async function readProbe(db: Connection, limit: number, now: number): Promise<Probe> {
  const log = await db.get<Record<OutcomeStatus | "cursor", number>>("SELECT * FROM batchwise_log");
  const { cursor = 0, succeeded = 0, failed = 0, cancelled = 0, expired = 0 } = log ?? {};
  const counters = await db.all<{ name: string; value: number }>("SELECT * FROM batchwise_counter");
  const counter = (wanted: string): number => counters.find(({ name }) => name === wanted)?.value ?? 0;
  const due = await db.get<{ at: number | null }>(
    "SELECT min(next_at) AS at FROM batchwise_delivery WHERE state = 'waiting'",
  );
  return {
    lanes: await laneRows(db, limit, now),
    ledgers: await ledgerRows(db, now),
    ...(await db.follow(batchFigures(counter("done")))),
    outcomes: { succeeded, failed, cancelled, expired },
    cursor,
    deliveriesWaiting: counter("waiting"),
    deliveryDueAt: due?.at ?? null,
  };
}

interface LaneFigures extends LaneRow {
  /** True if the stored count says that the lane may fill the limit. */
  readonly many: boolean;
}

/**
 * Reads only the first SAMPLE requests of lanes that can fill the limit by the stored count; if
 * these have been postponed, reads up to the limit.
 */
async function laneRows(db: Connection, limit: number, now: number): Promise<LaneRow[]> {
  const rows = await laneFigures(db, limit, limit > SAMPLE ? SAMPLE : limit, now);
  const isReckoned = rows.every(({ many, ready }) => !many || ready >= SAMPLE);
  const all = isReckoned ? rows : await laneFigures(db, limit, limit, now);
  return all.map(({ many, ...row }) => (many && isReckoned ? reckoned(row, atMost(limit)) : row));
}

/**
 * Reads up to `limit` requests of each lane, or `sample` if the stored count says that the lane has
 * `limit`.
 */
function laneFigures(db: Connection, limit: number, sample: number, now: number): Promise<LaneFigures[]> {
  return db.all<LaneFigures>(
    `${READY_LANES}
     SELECT l.name AS lane, n.many, s.ready, s.bytes, s.tokens, s.oldest AS "oldestAt", s.since AS "readySince",
       (SELECT min(deadline_at) FROM batchwise_ready WHERE lane = l.id AND deadline_at IS NOT NULL) AS "deadlineAt",
       (SELECT min(not_before) FROM batchwise_ready WHERE lane = l.id AND later AND not_before > $1)
         AS "deferredUntil"
     FROM lanes JOIN batchwise_lane l ON l.id = lanes.id, LATERAL (
       SELECT $3::bigint < $2::bigint AND coalesce(sum(requests), 0) >= $2::bigint AS many FROM batchwise_waiting WHERE lane = l.id
     ) n, LATERAL (
       SELECT count(*) AS ready, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(tokens), 0) AS tokens,
         min(created_at) AS oldest, min(greatest(created_at, not_before)) AS since
       FROM (
         (SELECT bytes, tokens, created_at, not_before FROM batchwise_ready WHERE lane = l.id AND NOT later AND not_before <= $1
          ORDER BY priority DESC, rank, seq LIMIT CASE WHEN n.many THEN $3 ELSE $2 END)
         UNION ALL
         (SELECT bytes, tokens, created_at, not_before FROM batchwise_ready WHERE lane = l.id AND later AND not_before <= $1
          LIMIT CASE WHEN n.many THEN 0 ELSE $2 END)
         LIMIT $2
       ) c
     ) s`,
    ...[now, atMost(limit), atMost(sample)],
  );
}

/** Adds up over the index of each ledger's batches, which is in the database's own collation. */
function ledgerRows(db: Connection, now: number): Promise<LedgerRow[]> {
  return db.all<LedgerRow>(
    `SELECT l.name, booked.*, l.learned_tokens AS "learnedTokens", l.learned_at AS "learnedAt",
       l.blocked_until AS "blockedUntil", l.strikes, l.note, l.outage
     FROM batchwise_ledger l, LATERAL (
       SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(requests), 0) AS requests, count(*) AS batches
       FROM batchwise_batch WHERE ledger = l.name COLLATE "default" AND release_at > $1
     ) AS booked ORDER BY l.name`,
    now,
  );
}
