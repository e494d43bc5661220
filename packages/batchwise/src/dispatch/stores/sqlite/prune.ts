// Lets go of old outcomes and requests, and of batches that nothing names any more. The row of a request stays, with its
// id and digest only: the index of ids, whose order is no order of time, is not touched. Runs inside a transaction that
// its caller opens.

import type { PruneInput, PruneStep } from "../../contract/pruning.ts";
import type { RequestRow } from "../../contract/rows.ts";
import { atMost, type Connection } from "./database.ts";

/** Bodies of more bytes are not deleted in one transaction, unless one alone has as many. */
const MOST_BYTES = 16_000_000;

interface Seen {
  readonly cursor: number;
  readonly seq: number;
  readonly status: string;
  readonly recorded_at: number;
  readonly batch: number | null;
  readonly bytes: number;
  readonly waits: number;
}

export function prune(db: Connection, input: PruneInput): PruneStep {
  const { before, statuses, after, limit } = input;
  const page = look(db, after, limit);
  const seen = upTo(page, MOST_BYTES);
  const old = seen.filter(({ recorded_at }) => recorded_at <= before);
  const chosen = old.filter(({ status }) => statuses.includes(status as PruneInput["statuses"][number]));
  const free = chosen.filter(({ waits }) => waits === 0);
  if (free.length > 0) remove(db, free);
  const batches = removeBatches(db, input);
  const isEnd = seen.length === page.length && (page.length < limit || old.length === 0);
  const next = isEnd && batches < limit ? null : (seen.at(-1)?.cursor ?? after);
  return { requests: free.length, batches, kept: chosen.length - free.length, next };
}

function look(db: Connection, after: number, limit: number): Seen[] {
  return db.all<Seen>(
    `SELECT o.cursor, o.seq, o.status, o.recorded_at, o.batch, r.bytes,
       EXISTS (SELECT 1 FROM batchwise_delivery d WHERE d.cursor = o.cursor AND d.state = 'waiting') AS waits
     FROM batchwise_outcome o JOIN batchwise_request r ON r.seq = o.seq
     WHERE o.cursor > ? ORDER BY o.cursor LIMIT ?`,
    ...[after, atMost(limit)],
  );
}

/** The first of them whose bodies have no more bytes together; one at least. */
function upTo(page: readonly Seen[], most: number): readonly Seen[] {
  let sum = 0;
  const end = page.findIndex(({ bytes }, place) => {
    sum += bytes;
    return place > 0 && sum > most;
  });
  return end === -1 ? page : page.slice(0, end);
}

function remove(db: Connection, outcomes: readonly Seen[]): void {
  const seqs = JSON.stringify(outcomes.map(({ seq }) => seq));
  const cursors = JSON.stringify(outcomes.map(({ cursor }) => cursor));
  const ofSeqs = "WHERE seq IN (SELECT value FROM json_each(?))";
  const ofCursors = "WHERE cursor IN (SELECT value FROM json_each(?))";
  db.run(
    `UPDATE batchwise_request SET pruned = (SELECT digest FROM batchwise_body b WHERE b.seq = batchwise_request.seq),
       lane = 0, priority = 0, rank = 0, tenant = '', created_at = 0, not_before = 0, deadline_at = NULL, bytes = 0,
       tokens = 0, attempts = 0, generation = 0 ${ofSeqs}`,
    seqs,
  );
  db.run(`DELETE FROM batchwise_body ${ofSeqs}`, seqs);
  const gone = new Map<number, number>();
  for (const { batch } of outcomes) if (batch !== null) gone.set(batch, (gone.get(batch) ?? 0) + 1);
  for (const { batch } of db.all<{ batch: number }>(`DELETE FROM batchwise_history ${ofSeqs} RETURNING batch`, seqs)) {
    gone.set(batch, (gone.get(batch) ?? 0) + 1);
  }
  for (const [batch, members] of gone) {
    db.run("UPDATE batchwise_batch SET gone = gone + ? WHERE id = ?", members, batch);
  }
  for (const table of ["outcome", "delivery", "delivery_log"]) {
    db.run(`DELETE FROM batchwise_${table} ${ofCursors}`, cursors);
  }
}

/** Of some the members were gone before they ended: the index is of both. */
function removeBatches(db: Connection, { batchesBefore, limit, now }: PruneInput): number {
  const over = db.all<{ id: number }>(
    `SELECT id FROM batchwise_batch INDEXED BY batchwise_batch_over
     WHERE state = 'done' AND gone >= requests AND updated_at <= ? AND release_at <= ? AND lease_until <= ? LIMIT ?`,
    ...[batchesBefore, now, now, atMost(limit)],
  );
  for (const { id } of over) {
    db.run("DELETE FROM batchwise_orphan WHERE batch = ?", id);
    db.run("DELETE FROM batchwise_batch WHERE id = ?", id);
  }
  return over.length;
}

/** The rows of these ids, in their order: those given, and those of tombstones. */
export function tombstones(db: Connection, ids: readonly string[], rows: readonly RequestRow[]): RequestRow[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = known.get(id);
    if (row !== undefined) return row;
    const sql = "SELECT 1 FROM batchwise_request WHERE id = ? AND pruned IS NOT NULL";
    return db.get(sql, id) === undefined ? [] : tombstone(id);
  });
}

function tombstone(id: string): RequestRow {
  return {
    ...{ id, lane: "", state: "ended", priority: 0, tenant: "", job: "", arrival: 0, createdAt: 0, notBefore: 0 },
    ...{ deadlineAt: null, bytes: 0, tokens: 0, attempts: 0, generation: 0, batchKey: null, ord: null },
    ...{ cancelRequested: false, ended: null, metadata: null, body: null, history: null },
  };
}
