// Lanes by number: the tables that claims scan have a lane's number instead of its name. Groups
// have negative numbers: a small index has their requests, and a prune deletes groups without
// requests.

import type { Dialect, LaneKind } from "./dialect.ts";
import { all, get, run, type Steps } from "./steps.ts";

/**
 * The numbers of these lanes. Creates missing ones, of this kind, in name order. No prune deletes
 * one of them before the transaction ends.
 */
export function* laneIds(dialect: Dialect, names: readonly string[], kind: LaneKind): Steps<Map<string, number>> {
  const wanted = [...new Set(names)].sort();
  const ids = yield* knownLanes(dialect, wanted);
  const groups = [...ids.values()].filter((id) => id < 0);
  if (groups.length > 0) {
    const kept = new Set(yield* keepLanes(dialect, groups));
    for (const [name, id] of ids) if (id < 0 && !kept.has(id)) ids.delete(name);
  }
  const missing = wanted.filter((name) => !ids.has(name));
  if (missing.length === 0) return ids;
  for (const name of missing) yield* run(dialect.newLane(kind), name);
  // Another transaction may have created one of them, and a prune may delete it meanwhile.
  return yield* laneIds(dialect, wanted, kind);
}

/** Which of these lanes still exist. Their rows are locked. */
function* keepLanes(dialect: Dialect, ids: readonly number[]): Steps<number[]> {
  const rows = yield* all<{ id: number }>(
    `SELECT id FROM batchwise_lane WHERE ${dialect.among("id", "bigint")} ORDER BY id
     ${dialect.lockKept("batchwise_lane")}`,
    ids,
  );
  return rows.map(({ id }) => id);
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

/** Puts requests into their lanes, at the place of their priority, rank and arrival. */
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

/** Number of a lane's requests to look at if the probe's limit is reached. */
export const SAMPLE = 1_000;

export interface LaneSums {
  readonly ready: number;
  readonly bytes: number;
  readonly tokens: number;
}

/** Extrapolates the sums of `limit` requests from the sums of the first. */
export function reckoned<Sums extends LaneSums>(first: Sums, limit: number): Sums {
  const times = limit / first.ready;
  return { ...first, ready: limit, bytes: Math.round(first.bytes * times), tokens: Math.round(first.tokens * times) };
}

/** The numbers of lanes with a ready request: one index step per lane, not per request. */
export const READY_LANES = `
  WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM batchwise_ready
    UNION ALL
    SELECT (SELECT min(lane) FROM batchwise_ready WHERE lane > lanes.id) FROM lanes WHERE lanes.id IS NOT NULL
  )`;
