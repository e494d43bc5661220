// Changes of requests from outside their batch: cancel, fail, expire, retry, hasten, redeliver. What may happen is decided by the statement
// that takes a request out of the table where it is, so that a seal or a settle at the same moment is seen.

import type { Amended, Amendment } from "../../contract/store.ts";
import { type Owner, UsageSums } from "../sql/usage.ts";
import { Again, atMost, type Connection, runAll } from "./database.ts";
import { redeliver } from "./deliveries.ts";
import { count, end } from "./endings.ts";
import { hasten } from "./hasten.ts";
import { laneIds, READY_LANES } from "./lanes.ts";
import { leave } from "./prune.ts";
import { makeReady } from "./settle.ts";

type Result = Amended["result"];
type ById<Kind extends Amendment["kind"]> = Extract<Amendment, { kind: Kind }>;

export async function amend(
  db: Connection,
  change: Amendment,
  sinks: readonly string[],
  now: number,
): Promise<Amended[]> {
  if (change.kind === "expire") return expire(db, change, sinks, now);
  if (change.kind === "hasten") {
    await hasten(db, change.after, now);
    return [];
  }
  if (change.kind === "redeliver") return redeliver(db, change, now);
  const rows = await db.all<{ id: string; seq: number }>(
    "SELECT id, seq FROM batchwise_request WHERE id = ANY($1::text[]) AND pruned IS NULL",
    ...[change.ids],
  );
  const seqs = new Map(rows.map(({ id, seq }) => [id, seq]));
  const all = [...new Set(change.ids.flatMap((id) => seqs.get(id) ?? []))];
  const results =
    change.kind === "retry" ? await retry(db, change, seqs, now) : await takeOut(db, change, all, sinks, now);
  const again: Result = change.kind === "retry" ? "waiting" : "ended";
  return change.ids.map((id) => {
    const seq = seqs.get(id);
    if (seq === undefined) return { id, result: "not_found" };
    const result = results.get(seq) ?? again;
    // The same id a second time finds what the first has made of it.
    if (result === "changed") results.set(seq, again);
    return { id, result };
  });
}

async function expire(
  db: Connection,
  { limit, payload, code }: ById<"expire">,
  sinks: readonly string[],
  now: number,
): Promise<Amended[]> {
  const late = await db.all<{ seq: number; id: string }>(
    `WITH late AS (
       ${READY_LANES} SELECT c.seq, c.deadline_at FROM lanes JOIN batchwise_ready c ON c.lane = lanes.id
       WHERE c.deadline_at <= $1 ORDER BY c.deadline_at, c.seq LIMIT $2 FOR UPDATE OF c SKIP LOCKED
     ), gone AS (
       DELETE FROM batchwise_ready WHERE seq IN (SELECT seq FROM late)
     )
     SELECT r.seq, r.id FROM late JOIN batchwise_request r ON r.seq = late.seq ORDER BY late.deadline_at, late.seq`,
    ...[now, atMost(limit)],
  );
  const endings = late.map(
    ({ seq }) => ({ seq, status: "expired", payload, code, usage: null, charged: false }) as const,
  );
  await end(db, endings, null, sinks, now);
  return late.map(({ id }) => ({ id, result: "changed" }));
}

async function takeOut(
  db: Connection,
  change: ById<"cancel"> | ById<"fail">,
  seqs: readonly number[],
  sinks: readonly string[],
  now: number,
): Promise<Map<number, Result>> {
  const gone = await db.all<{ seq: number }>(
    "DELETE FROM batchwise_ready WHERE seq = ANY($1::bigint[]) RETURNING seq",
    ...[seqs],
  );
  const results = new Map<number, Result>(gone.map(({ seq }) => [seq, "changed"]));
  const rest = seqs.filter((seq) => !results.has(seq));
  const wanted: Result = change.kind === "cancel" ? "requested" : "waiting";
  for (const seq of await claimed(db, rest, change.kind === "cancel")) results.set(seq, wanted);
  const ended = await db.all<{ seq: number }>(
    "SELECT seq FROM batchwise_outcome WHERE seq = ANY($1::bigint[])",
    ...[rest],
  );
  for (const { seq } of ended) results.set(seq, "ended");
  // Neither ready, nor claimed, nor ended: a settle or a seal moved it between our looks.
  if (seqs.some((seq) => !results.has(seq))) throw new Again();
  const status = change.kind === "cancel" ? "cancelled" : "failed";
  const order = seqs.filter((seq) => results.get(seq) === "changed");
  const { payload, code } = change;
  const endings = order.map((seq) => ({ seq, status, payload, code, usage: null, charged: false }) as const);
  await end(db, endings, null, sinks, now);
  return results;
}

/** Which of these a batch has; with `wish`, their cancel is asked for, and their batch counts it once. */
async function claimed(db: Connection, seqs: readonly number[], wish: boolean): Promise<number[]> {
  if (seqs.length === 0) return [];
  await db.run(
    `SELECT id FROM batchwise_batch WHERE id IN (SELECT batch FROM batchwise_member WHERE seq = ANY($1::bigint[]))
     ORDER BY id FOR UPDATE`,
    ...[seqs],
  );
  const members = await db.all<{ seq: number }>(
    "SELECT seq FROM batchwise_member WHERE seq = ANY($1::bigint[])",
    ...[seqs],
  );
  const found = members.map(({ seq }) => seq);
  if (!wish || found.length === 0) return found;
  await db.run(
    `WITH wished AS (
       UPDATE batchwise_member SET cancel_requested = TRUE
       WHERE seq = ANY($1::bigint[]) AND NOT cancel_requested RETURNING batch
     )
     UPDATE batchwise_batch b SET cancel_requested = b.cancel_requested + w.wishes
     FROM (SELECT batch, count(*) AS wishes FROM wished GROUP BY batch) w WHERE b.id = w.batch`,
    ...[found],
  );
  return found;
}

async function retry(
  db: Connection,
  change: ById<"retry">,
  known: ReadonlyMap<string, number>,
  now: number,
): Promise<Map<number, Result>> {
  const seqs = [...known.values()];
  const removed = await db.all<{ seq: number; cursor: number; batch: number | null }>(
    "DELETE FROM batchwise_outcome WHERE seq = ANY($1::bigint[]) AND status <> 'succeeded' RETURNING seq, cursor, batch",
    ...[seqs],
  );
  const results = new Map<number, Result>(removed.map(({ seq }) => [seq, "changed"]));
  const ended = await db.all<{ seq: number }>(
    "SELECT seq FROM batchwise_outcome WHERE seq = ANY($1::bigint[])",
    ...[seqs],
  );
  for (const { seq } of ended) results.set(seq, "ended");
  if (removed.length === 0) return results;
  const cursors = removed.map(({ cursor }) => cursor);
  await db.run("DELETE FROM batchwise_delivery_log WHERE cursor = ANY($1::bigint[])", cursors);
  const dropped = await db.all<{ state: string }>(
    "DELETE FROM batchwise_delivery WHERE cursor = ANY($1::bigint[]) RETURNING state",
    ...[cursors],
  );
  await leave(db, removed);
  const again = removed.map(({ seq }) => seq);
  const ids = await laneIds(db, change.lanes);
  const lanes = new Map(change.ids.map((id, index) => [known.get(id), ids.get(change.lanes[index] as string)]));
  await db.run(
    `UPDATE batchwise_request r SET lane = i.lane, attempts = 0, generation = generation + 1, not_before = $1,
       deadline_at = NULL
     FROM unnest($2::bigint[], $3::bigint[]) AS i (seq, lane) WHERE r.seq = i.seq`,
    ...[now, again, again.map((seq) => lanes.get(seq) ?? 0)],
  );
  await makeReady(db, again, now);
  await countRetries(db, again);
  await count(db, "waiting", -dropped.filter(({ state }) => state === "waiting").length);
  return results;
}

async function countRetries(db: Connection, seqs: readonly number[]): Promise<void> {
  const owners = await db.all<Owner>(
    `SELECT r.tenant, r.job, l.name AS lane FROM batchwise_request r JOIN batchwise_lane l ON l.id = r.lane
     WHERE r.seq = ANY($1::bigint[]) AND r.job <> ''`,
    ...[seqs],
  );
  const sums = new UsageSums();
  for (const owner of owners) sums.requested(owner);
  await runAll(db, sums.statements());
}
