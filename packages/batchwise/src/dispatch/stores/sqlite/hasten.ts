// Makes due what waits for a time that only a wrong clock can have written. Walks indexes of what waits; of the requests
// that may be claimed already, the first of each lane. Runs inside a transaction that its caller opens.

import type { Connection } from "./database.ts";
import { READY_LANES } from "./lanes.ts";

/** Those of a lane that a claim walks through are looked at from its front: what cannot be claimed stays there. */
const FRONT = 1_000;

const LATE_READY = `
  seq IN (SELECT seq FROM batchwise_ready WHERE lane = ?1 AND later = 1 AND not_before > ?2)
  OR seq IN (
    SELECT seq FROM (
      SELECT seq, not_before FROM batchwise_ready WHERE lane = ?1 AND later = 0
      ORDER BY priority DESC, rank, seq LIMIT ${FRONT}
    ) WHERE not_before > ?2
  )`;

const BATCH_TIMES = ["next_at", "lease_until", "submit_started_at", "unknown_since"];

export function hasten(db: Connection, after: number, now: number): void {
  const lanes = db.all<{ id: number }>(`${READY_LANES} SELECT id FROM lanes WHERE id IS NOT NULL`);
  for (const { id } of lanes) {
    const late = db.all<{ seq: number }>(`SELECT seq FROM batchwise_request WHERE ${LATE_READY}`, id, after);
    for (const { seq } of late) hastenRequest(db, seq, now);
  }
  for (const time of BATCH_TIMES) {
    db.run(`UPDATE batchwise_batch SET ${time} = ? WHERE state <> 'done' AND ${time} > ?`, now, after);
  }
  db.run(
    `UPDATE batchwise_batch SET release_at = ?
     WHERE ledger IN (SELECT name FROM batchwise_ledger) AND release_at > ? AND release_at < ?`,
    ...[now, after, Number.MAX_SAFE_INTEGER],
  );
  db.run("UPDATE batchwise_delivery SET next_at = ? WHERE state = 'waiting' AND next_at > ?", now, after);
  db.run("UPDATE batchwise_ledger SET blocked_until = ? WHERE blocked_until > ?", now, after);
}

function hastenRequest(db: Connection, seq: number, now: number): void {
  db.run("UPDATE batchwise_request SET not_before = ? WHERE seq = ?", now, seq);
  db.run(
    `UPDATE batchwise_ready SET not_before = ? WHERE (lane, later, priority, rank, seq) IN
       (SELECT lane, value, priority, rank, seq FROM batchwise_request, json_each('[0, 1]') WHERE seq = ?)`,
    ...[now, seq],
  );
}
