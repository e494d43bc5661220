// Writes outcomes. The log's row is locked until the commit, which makes cursors visible in order.

import type { OutcomeStatus } from "../../contract/types.ts";
import type { Ending } from "../sql/dialect.ts";
import { Column, type SqlValue } from "../sql/statement.ts";
import { count, run, type Steps } from "../sql/steps.ts";

export function* record(
  endings: readonly Ending[],
  batch: number | null,
  sinks: readonly string[],
  now: number,
): Steps<void> {
  const ended = (wanted: OutcomeStatus): number => endings.filter(({ status }) => status === wanted).length;
  const column = (pick: (ending: Ending) => SqlValue): Column => new Column(endings.map(pick));
  yield* run(
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
    ...[column(({ seq }) => seq), column(({ status }) => status), column(({ charged }) => (charged ? 1 : 0))],
    ...[column(({ payload }) => payload), new Column(sinks), batch, column(({ code }) => code)],
  );
  yield* count("waiting", endings.length * sinks.length);
}
