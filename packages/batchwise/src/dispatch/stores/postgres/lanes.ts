// Lanes by number: the tables that claims scan hold a lane's number, not its name.

import type { Connection } from "./database.ts";

/** The numbers of these lanes; new ones are made. */
export async function laneIds(db: Connection, names: readonly string[]): Promise<Map<string, number>> {
  const wanted = [...new Set(names)].sort();
  const ids = await knownLanes(db, wanted);
  const missing = wanted.filter((name) => !ids.has(name));
  if (missing.length === 0) return ids;
  await db.run(
    "INSERT INTO batchwise_lane (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING",
    ...[missing],
  );
  return knownLanes(db, wanted);
}

async function knownLanes(db: Connection, names: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.all<{ id: number; name: string }>(
    "SELECT id, name FROM batchwise_lane WHERE name = ANY($1::text[])",
    ...[names],
  );
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export async function knownLane(db: Connection, name: string): Promise<number | undefined> {
  return (await db.get<{ id: number }>("SELECT id FROM batchwise_lane WHERE name = $1", name))?.id;
}

/**
 * Puts what has waited for its time among those that a claim walks through. Each request is woken once a requeue: this
 * commits before the seal, which undoes all else that it did when it refuses.
 */
export async function wake(db: Connection, name: string, now: number): Promise<void> {
  await db.run(
    `UPDATE batchwise_ready SET later = FALSE WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM batchwise_ready
       WHERE lane = (SELECT id FROM batchwise_lane WHERE name = $1) AND later AND not_before <= $2
       FOR UPDATE SKIP LOCKED
     ))`,
    ...[name, now],
  );
}

/** The numbers of the lanes that have a ready request: one step through the index for each, not for each request. */
export const READY_LANES = `
  WITH RECURSIVE lanes (id) AS (
    (SELECT lane FROM batchwise_ready ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT lane FROM batchwise_ready WHERE lane > lanes.id ORDER BY lane LIMIT 1)
    FROM lanes WHERE lanes.id IS NOT NULL
  )`;
