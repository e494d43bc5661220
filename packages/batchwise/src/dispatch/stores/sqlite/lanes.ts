// Lanes by number: the tables that claims scan hold a lane's number, not its name.

import type { Connection } from "./database.ts";

/** The number of a lane, made where it is new. Only inside a writing transaction. */
export function laneId(db: Connection, name: string): number {
  const known = knownLane(db, name);
  if (known !== undefined) return known;
  db.run("INSERT INTO batchwise_lane (name) VALUES (?)", name);
  return knownLane(db, name) ?? 0;
}

export function knownLane(db: Connection, name: string): number | undefined {
  return db.get<{ id: number }>("SELECT id FROM batchwise_lane WHERE name = ?", name)?.id;
}

/** Puts what has waited for its time among those that a claim walks through. Each request is woken once a requeue. */
export function wake(db: Connection, lane: number, now: number): void {
  db.run("UPDATE batchwise_ready SET later = 0 WHERE lane = ? AND later = 1 AND not_before <= ?", lane, now);
}

/** The numbers of the lanes that have a ready request: one step through the index for each, not for each request. */
export const READY_LANES = `
  WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM batchwise_ready
    UNION ALL
    SELECT (SELECT min(lane) FROM batchwise_ready WHERE lane > lanes.id) FROM lanes WHERE lanes.id IS NOT NULL
  )`;
