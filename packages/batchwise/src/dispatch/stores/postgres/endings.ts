// Ends requests: writes an outcome with the next cursor and a delivery for each sink. The log's row
// is locked until the commit, which makes cursors visible in order: call it last in a transaction.

import type { Owner } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Ending } from "../sql/amend.ts";
import { count } from "../sql/counters.ts";
import { UsageAdditions } from "../sql/usage.ts";
import type { Connection } from "./database.ts";
import { keepUsage } from "./usage.ts";

interface Owned extends Owner {
  readonly seq: number;
}

/** `batch`: the one in which they end; null if they waited. */
export async function end(
  db: Connection,
  endings: readonly Ending[],
  batch: number | null,
  sinks: readonly string[],
  now: number,
): Promise<void> {
  if (endings.length === 0) return;
  await countUsage(db, endings);
  const ended = (wanted: OutcomeStatus): number => endings.filter(({ status }) => status === wanted).length;
  await db.run(
    `WITH log AS (
       UPDATE batchwise_log SET cursor = cursor + $1, succeeded = succeeded + $2, failed = failed + $3,
         cancelled = cancelled + $4, expired = expired + $5 RETURNING cursor - $1 AS before
     ), added AS (
       INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch, job, code)
       SELECT log.before + e.n, e.seq, e.status, r.attempts + e.charged, $6, e.payload, $12, nullif(r.job, ''), e.code
       FROM log, unnest($7::bigint[], $8::text[], $9::bigint[], $10::text[], $13::text[]) WITH ORDINALITY
         AS e (seq, status, charged, payload, code, n) JOIN batchwise_request r ON r.seq = e.seq
       RETURNING cursor
     )
     INSERT INTO batchwise_delivery (cursor, sink, next_at, is_due)
     SELECT added.cursor, s.sink, $6, TRUE FROM added, unnest($11::text[]) AS s (sink)`,
    ...[endings.length, ended("succeeded"), ended("failed"), ended("cancelled"), ended("expired"), now],
    ...[endings.map(({ seq }) => seq), endings.map(({ status }) => status)],
    ...[endings.map(({ charged }) => (charged ? 1 : 0)), endings.map(({ payload }) => payload), sinks],
    ...[batch, endings.map(({ code }) => code)],
  );
  await db.follow(count("waiting", endings.length * sinks.length));
}

/**
 * Before the log's row is locked, so that a wait for a row of the sums blocks no other transaction.
 */
async function countUsage(db: Connection, endings: readonly Ending[]): Promise<void> {
  const rows = await db.all<Owned>(
    `SELECT r.seq, r.tenant, r.job, l.name AS lane FROM batchwise_request r JOIN batchwise_lane l ON l.id = r.lane
     WHERE r.seq = ANY($1::bigint[])`,
    endings.map(({ seq }) => seq),
  );
  const owners = new Map(rows.map((row) => [row.seq, row]));
  const sums = new UsageAdditions();
  for (const { seq, status, usage } of endings) {
    const owner = owners.get(seq);
    if (owner !== undefined) sums.ended(owner, status, usage);
  }
  await keepUsage(db, sums);
}
