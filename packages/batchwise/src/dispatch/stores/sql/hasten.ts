// Makes rows due whose time only a wrong clock can have written. Walks indexes of waiting rows; for
// claimable requests, only the first of each lane. Rows locked by another transaction are left for
// the next call.

import type { Dialect } from "./dialect.ts";
import { READY_LANES } from "./lanes.ts";
import { all, run, type Steps } from "./steps.ts";

/** Number of claimable requests to check, from the lane's front, where unclaimable ones stay. */
const FRONT = 1_000;

const BATCH_TIMES = ["next_at", "lease_until", "submit_started_at", "unknown_since"];

export function* hasten(dialect: Dialect, after: number, now: number): Steps<void> {
  const lanes = yield* all<{ id: number }>(`${READY_LANES} SELECT id FROM lanes WHERE id IS NOT NULL`);
  for (const { id } of lanes) yield* hastenLane(dialect, id, after, now);
  for (const time of BATCH_TIMES) {
    yield* run(
      `UPDATE batchwise_batch SET ${time} = ? WHERE id IN (
         SELECT id FROM batchwise_batch WHERE state <> 'done' AND ${time} > ? ${dialect.lockFree("batchwise_batch")})`,
      ...[now, after],
    );
  }
  const ledgers = yield* all<{ name: string }>("SELECT name FROM batchwise_ledger");
  yield* run(
    `UPDATE batchwise_batch SET release_at = ? WHERE id IN (
       SELECT id FROM batchwise_batch WHERE ${dialect.among("ledger", "text")} AND release_at > ? AND release_at < ?
       ${dialect.lockFree("batchwise_batch")})`,
    ...[now, ledgers.map(({ name }) => name), after, Number.MAX_SAFE_INTEGER],
  );
  yield* run(
    `UPDATE batchwise_delivery SET next_at = ? WHERE (cursor, sink) IN (
       SELECT cursor, sink FROM batchwise_delivery WHERE state = 'waiting' AND next_at > ?
       ${dialect.lockFree("batchwise_delivery")})`,
    ...[now, after],
  );
  yield* run(
    `UPDATE batchwise_ledger SET blocked_until = ? WHERE name IN (
       SELECT name FROM batchwise_ledger WHERE blocked_until > ? ${dialect.lockFree("batchwise_ledger")})`,
    ...[now, after],
  );
}

interface Waiting {
  readonly seq: number;
  readonly not_before: number;
}

function* hastenLane(dialect: Dialect, lane: number, after: number, now: number): Steps<void> {
  const later = yield* all<Waiting>(
    `SELECT seq, not_before FROM batchwise_ready WHERE lane = ? AND ${dialect.yes("later")} AND not_before > ?`,
    ...[lane, after],
  );
  const front = yield* all<Waiting>(
    `SELECT seq, not_before FROM batchwise_ready WHERE lane = ? AND ${dialect.no("later")}
     ORDER BY priority DESC, rank, seq LIMIT ${FRONT}`,
    lane,
  );
  const late = [...later, ...front].filter(({ not_before }) => not_before > after);
  if (late.length === 0) return;
  const free = yield* all<{ seq: number }>(
    `SELECT seq FROM batchwise_ready WHERE ${dialect.readyAmong} ${dialect.lockFree("batchwise_ready")}`,
    late.map(({ seq }) => seq),
  );
  const seqs = free.map(({ seq }) => seq);
  yield* run(`UPDATE batchwise_ready SET not_before = ? WHERE ${dialect.readyAmong}`, now, seqs);
  yield* run(`UPDATE batchwise_request SET not_before = ? WHERE ${dialect.among("seq", "bigint")}`, now, seqs);
}
