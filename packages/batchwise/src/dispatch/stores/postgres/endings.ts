// How requests end: an outcome under the next cursor and a delivery for each sink. The log's row is locked from here to
// the commit, which is what makes cursors visible in order: call it last in a transaction.

import type { OutcomeStatus } from "../../contract/types.ts";
import type { Connection } from "./database.ts";

export interface Ending {
  readonly seq: number;
  readonly status: OutcomeStatus;
  readonly payload: string;
  readonly charged: boolean;
  /** The batch in which it ends; null where it waited. */
  readonly batch: number | null;
}

export async function end(
  db: Connection,
  endings: readonly Ending[],
  sinks: readonly string[],
  now: number,
): Promise<void> {
  if (endings.length === 0) return;
  const ended = (wanted: OutcomeStatus): number => endings.filter(({ status }) => status === wanted).length;
  await db.run(
    `WITH log AS (
       UPDATE batchwise_log SET cursor = cursor + $1, succeeded = succeeded + $2, failed = failed + $3,
         cancelled = cancelled + $4, expired = expired + $5 RETURNING cursor - $1 AS before
     ), added AS (
       INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch)
       SELECT log.before + e.n, e.seq, e.status, r.attempts + e.charged, $6, e.payload, e.batch
       FROM log, unnest($7::bigint[], $8::text[], $9::bigint[], $10::text[], $12::bigint[])
         WITH ORDINALITY AS e (seq, status, charged, payload, batch, n) JOIN batchwise_request r ON r.seq = e.seq
       RETURNING cursor
     )
     INSERT INTO batchwise_delivery (cursor, sink, next_at, is_due)
     SELECT added.cursor, s.sink, $6, TRUE FROM added, unnest($11::text[]) AS s (sink)`,
    ...[endings.length, ended("succeeded"), ended("failed"), ended("cancelled"), ended("expired"), now],
    ...[endings.map(({ seq }) => seq), endings.map(({ status }) => status)],
    ...[endings.map(({ charged }) => (charged ? 1 : 0)), endings.map(({ payload }) => payload), sinks],
    endings.map(({ batch }) => batch),
  );
  await count(db, "waiting", endings.length * sinks.length);
}

/** `done`: batches that ended; `waiting`: deliveries not made. Kept, because counting them would cost more and more. */
export async function count(db: Connection, name: "done" | "waiting", more: number): Promise<void> {
  if (more !== 0) await db.run("UPDATE batchwise_counter SET value = value + $1 WHERE name = $2", more, name);
}
