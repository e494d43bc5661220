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

/** The numbers of the lanes that have a ready request: one step through the index for each, not for each request. */
export const READY_LANES = `
  WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM batchwise_ready
    UNION ALL
    SELECT (SELECT min(lane) FROM batchwise_ready WHERE lane > lanes.id) FROM lanes WHERE lanes.id IS NOT NULL
  )`;
