// Makes due what waits for a time that only a wrong clock can have written. Walks indexes of what waits; of the requests
// that may be claimed already, the first of each lane. Rows that another transaction holds are left for the next call.

import type { Connection } from "./database.ts";
import { READY_LANES } from "./lanes.ts";

/** Those of a lane that a claim walks through are looked at from its front: what cannot be claimed stays there. */
const FRONT = 1_000;

export async function hasten(db: Connection, after: number, now: number): Promise<void> {
  await db.run(
    `WITH found AS (
       ${READY_LANES} SELECT late.seq FROM lanes, LATERAL (
         SELECT seq FROM batchwise_ready WHERE lane = lanes.id AND later AND not_before > $1
         UNION ALL
         SELECT seq FROM (
           SELECT seq, not_before FROM batchwise_ready WHERE lane = lanes.id AND NOT later
           ORDER BY priority DESC, rank, seq LIMIT ${FRONT}
         ) AS front WHERE not_before > $1
       ) AS late
     ), locked AS (
       SELECT seq FROM batchwise_ready WHERE seq IN (SELECT seq FROM found) FOR UPDATE SKIP LOCKED
     ), readied AS (
       UPDATE batchwise_ready SET not_before = $2 WHERE seq IN (SELECT seq FROM locked)
     )
     UPDATE batchwise_request SET not_before = $2 WHERE seq IN (SELECT seq FROM locked)`,
    ...[after, now],
  );
  await hastenBatches(db, after, now);
  await db.run(
    `UPDATE batchwise_delivery SET next_at = $2 WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM batchwise_delivery WHERE state = 'waiting' AND next_at > $1 FOR UPDATE SKIP LOCKED
     ))`,
    ...[after, now],
  );
  await db.run(
    `UPDATE batchwise_ledger SET blocked_until = $2 WHERE name IN (
       SELECT name FROM batchwise_ledger WHERE blocked_until > $1 FOR UPDATE SKIP LOCKED
     )`,
    ...[after, now],
  );
}

async function hastenBatches(db: Connection, after: number, now: number): Promise<void> {
  const sooner = (time: string): string => `${time} = CASE WHEN ${time} > $1 THEN $2 ELSE ${time} END`;
  await db.run(
    `UPDATE batchwise_batch SET ${["next_at", "lease_until", "submit_started_at", "unknown_since"].map(sooner).join(", ")}
     WHERE id IN (
       SELECT id FROM batchwise_batch
       WHERE state <> 'done' AND greatest(next_at, lease_until, submit_started_at, unknown_since) > $1
       FOR UPDATE SKIP LOCKED
     )`,
    ...[after, now],
  );
  await db.run(
    `UPDATE batchwise_batch SET release_at = $2 WHERE id IN (
       SELECT b.id FROM batchwise_ledger l JOIN batchwise_batch b ON b.ledger = l.name COLLATE "default"
       WHERE b.release_at > $1 AND b.release_at < $3 FOR UPDATE OF b SKIP LOCKED
     )`,
    ...[after, now, Number.MAX_SAFE_INTEGER],
  );
}
