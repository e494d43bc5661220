// What there is to do, as one look at one state of the data. Reads only.

import type { LedgerLimits, LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { LaneRow, Probe } from "../../contract/store/probe.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { batchFigures } from "../sql/batches.ts";
import { type LaneSums, READY_LANES, reckoned, SAMPLE } from "../sql/lanes.ts";
import { bookedOn } from "../sql/ledgers.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";

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
    ...db.follow(batchFigures(done)),
    outcomes,
    cursor,
    deliveriesWaiting: waiting,
    deliveryDueAt: due?.at ?? null,
  };
}

/** Stored, because counting would cost more with every ended request. */
function counters(db: Connection): Readonly<Record<"cursor" | "done" | "waiting" | OutcomeStatus, number>> {
  const values = { cursor: 0, done: 0, waiting: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  for (const { name, value } of db.all<{ name: keyof typeof values; value: number }>(
    "SELECT * FROM batchwise_counter",
  )) {
    values[name] = value;
  }
  return values;
}

interface LaneFigures extends LaneSums {
  readonly oldest: number | null;
  readonly since: number | null;
}

/**
 * Sums over the first requests of a lane that may go: requests in claim order, or requests whose
 * wait is over and that no seal has woken yet.
 */
function laneSums(db: Connection, id: number, limit: number, now: number, which: "in order" | "woken"): LaneFigures {
  const some =
    which === "in order"
      ? "later = 0 AND not_before <= ? ORDER BY priority DESC, rank, seq"
      : "later = 1 AND not_before <= ?";
  const sums = db.get<LaneFigures>(
    `SELECT count(*) AS ready, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(tokens), 0) AS tokens,
       min(created_at) AS oldest, min(max(created_at, not_before)) AS since
     FROM (SELECT bytes, tokens, created_at, not_before FROM batchwise_ready WHERE lane = ? AND ${some} LIMIT ?)`,
    ...[id, now, atMost(limit)],
  );
  return sums ?? { ready: 0, bytes: 0, tokens: 0, oldest: null, since: null };
}

/**
 * A lane of which the limit can go need not be summed up: the walk to its last one reads no
 * columns.
 */
function firstSums(db: Connection, id: number, limit: number, now: number): LaneFigures {
  if (limit > SAMPLE && hasMany(db, id, limit)) {
    const first = laneSums(db, id, SAMPLE, now, "in order");
    if (first.ready === SAMPLE) return reckoned(first, atMost(limit));
  }
  return laneSums(db, id, limit, now, "in order");
}

function hasMany(db: Connection, id: number, limit: number): boolean {
  const last = db.get(
    `SELECT 1 FROM batchwise_ready WHERE lane = ? AND later = 0 ORDER BY priority DESC, rank, seq LIMIT 1 OFFSET ?`,
    ...[id, atMost(limit) - 1],
  );
  return last !== undefined;
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function laneRow(db: Connection, id: number, lane: string, limit: number, now: number): LaneRow {
  const first = firstSums(db, id, limit, now);
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

function ledgerRows(db: Connection, now: number): LedgerRow[] {
  const rows = db.all<Omit<LedgerRow, keyof LedgerLimits>>(
    `SELECT name, learned_tokens AS "learnedTokens", learned_at AS "learnedAt", blocked_until AS "blockedUntil",
       strikes, note, outage FROM batchwise_ledger ORDER BY name`,
  );
  return rows.map((row) => ({ ...row, ...db.follow(bookedOn(row.name, now)) }));
}
