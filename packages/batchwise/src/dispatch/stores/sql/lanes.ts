// Lanes by number: the tables that claims scan hold a lane's number, not its name.

import type { Dialect } from "./dialect.ts";
import { all, get, run, type Steps } from "./steps.ts";

/** The numbers of these lanes; new ones are made, in the order of their names. */
export function* laneIds(dialect: Dialect, names: readonly string[]): Steps<Map<string, number>> {
  const wanted = [...new Set(names)].sort();
  const ids = yield* knownLanes(dialect, wanted);
  const missing = wanted.filter((name) => !ids.has(name));
  if (missing.length === 0) return ids;
  for (const name of missing) {
    yield* run("INSERT INTO batchwise_lane (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name);
  }
  return yield* knownLanes(dialect, wanted);
}

function* knownLanes(dialect: Dialect, names: readonly string[]): Steps<Map<string, number>> {
  const rows = yield* all<{ id: number; name: string }>(
    `SELECT id, name FROM batchwise_lane WHERE ${dialect.among("name", "text")}`,
    names,
  );
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export function* knownLane(name: string): Steps<number | undefined> {
  return (yield* get<{ id: number }>("SELECT id FROM batchwise_lane WHERE name = ?", name))?.id;
}

/** Puts requests into their lanes, where priority, rank and arrival put them. */
export function* makeReady(dialect: Dialect, seqs: readonly number[], now: number): Steps<void> {
  if (seqs.length === 0) return;
  yield* run(
    `INSERT INTO batchwise_ready
       (lane, later, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at)
     SELECT lane, not_before > ?, priority, rank, seq, bytes, tokens, not_before, deadline_at, created_at
     FROM batchwise_request WHERE ${dialect.among("seq", "bigint")}`,
    ...[now, seqs],
  );
}

/** The numbers of the lanes that have a ready request: one step through the index for each, not for each request. */
export const READY_LANES = `
  WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM batchwise_ready
    UNION ALL
    SELECT (SELECT min(lane) FROM batchwise_ready WHERE lane > lanes.id) FROM lanes WHERE lanes.id IS NOT NULL
  )`;
