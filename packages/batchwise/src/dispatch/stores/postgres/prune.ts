// Prunes old outcomes and requests, and deletes batches and groups that no row refers to. A
// request's row keeps only its id and digest. Deliveries are locked first, so that none can be
// scheduled meanwhile. Outcomes locked by another transaction are skipped: they are being retried
// or pruned.

import type { PruneInput, PruneStep } from "../../contract/store/pruning.ts";
import { addToBatches, removeBatches } from "../sql/batches.ts";
import { forgetTombstones, type GroupWalk } from "../sql/remains.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";
import { postgres } from "./dialect.ts";

interface Seen {
  readonly cursor: number;
  readonly seq: number;
  readonly batch: number | null;
  readonly is_old: boolean;
  readonly may_go: boolean;
}

export async function prune(db: Connection, input: PruneInput, groups: GroupWalk): Promise<PruneStep> {
  const limit = atMost(input.limit);
  const seen = await look(db, input, limit);
  const chosen = seen.filter(({ may_go }) => may_go);
  const held = await waiting(db, chosen);
  const free = chosen.filter(({ cursor }) => !held.has(cursor));
  const locked = await lock(db, free);
  const gone = free.filter(({ cursor }) => locked.has(cursor));
  if (gone.length > 0) await remove(db, gone, input.now);
  const batches = await db.follow(removeBatches(postgres, input));
  const isLogEnd = seen.length < limit || !seen.some(({ is_old }) => is_old);
  // Last, because a transaction that waits for a group locked here waits for nothing that this one
  // must still lock.
  const isOver = isLogEnd && batches < limit;
  const isEnd = isOver && (await db.follow(forgetTombstones(input))) < limit && (await db.follow(groups.step()));
  const next = isEnd ? null : (seen.at(-1)?.cursor ?? input.after);
  return { requests: gone.length, batches, kept: held.size, next };
}

function look(db: Connection, { before, statuses, after }: PruneInput, limit: number): Promise<Seen[]> {
  return db.all<Seen>(
    `SELECT cursor, seq, batch, recorded_at <= $1 AS is_old, recorded_at <= $1 AND status = ANY($2::text[]) AS may_go
     FROM batchwise_outcome WHERE cursor > $3 ORDER BY cursor LIMIT $4`,
    ...[before, statuses, after, limit],
  );
}

async function lock(db: Connection, some: readonly Seen[]): Promise<Set<number>> {
  const rows = await db.all<{ cursor: number }>(
    `SELECT cursor FROM batchwise_outcome WHERE cursor = ANY($1::bigint[]) ORDER BY cursor FOR UPDATE SKIP LOCKED`,
    some.map(({ cursor }) => cursor),
  );
  return new Set(rows.map(({ cursor }) => cursor));
}

/**
 * Outcomes with a waiting delivery. Their deliveries are locked: none of the others begins to wait
 * meanwhile.
 */
async function waiting(db: Connection, some: readonly Seen[]): Promise<Set<number>> {
  const rows = await db.all<{ cursor: number; state: string }>(
    `SELECT cursor, state FROM batchwise_delivery WHERE cursor = ANY($1::bigint[]) ORDER BY cursor, sink FOR UPDATE`,
    some.map(({ cursor }) => cursor),
  );
  return new Set(rows.filter(({ state }) => state === "waiting").map(({ cursor }) => cursor));
}

async function remove(db: Connection, gone: readonly Seen[], now: number): Promise<void> {
  const seqs = gone.map(({ seq }) => seq);
  const cursors = gone.map(({ cursor }) => cursor);
  await db.run(
    `WITH bodies AS (DELETE FROM batchwise_body WHERE seq = ANY($1::bigint[]) RETURNING seq, digest)
     UPDATE batchwise_request r SET pruned = bodies.digest, lane = greatest(lane, 0), tenant = '', job = '',
       deadline_at = NULL, attempts = 0, created_at = $2
     FROM bodies WHERE r.seq = bodies.seq`,
    ...[seqs, now],
  );
  const left = await db.all<{ batch: number }>(
    "DELETE FROM batchwise_history WHERE seq = ANY($1::bigint[]) RETURNING batch",
    seqs,
  );
  await db.run("DELETE FROM batchwise_outcome WHERE cursor = ANY($1::bigint[])", cursors);
  await db.run("DELETE FROM batchwise_delivery WHERE cursor = ANY($1::bigint[])", cursors);
  await db.run("DELETE FROM batchwise_delivery_log WHERE cursor = ANY($1::bigint[])", cursors);
  await db.follow(addToBatches(postgres, "gone", [...gone, ...left]));
}
