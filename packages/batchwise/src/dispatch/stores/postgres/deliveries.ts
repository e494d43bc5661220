// Deliveries: writes reports of earlier attempts, then takes due ones. With SKIP LOCKED, two
// processes never take the same delivery for the same attempt and never wait for each other.

import type { DeliveriesInput } from "../../contract/store/calls.ts";
import type { DeliveryReport } from "../../contract/store/outcome-rows.ts";
import { count } from "../sql/counters.ts";
import type { Taken } from "../sql/outcomes.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";

const NOTED_AT_ONCE = 1_000;

export async function bookAndTake(db: Connection, { reports, take, now }: DeliveriesInput): Promise<Taken[]> {
  let waiting = 0;
  for (const wave of waves(reports)) waiting += await book(db, wave);
  const taken = take === null ? [] : await takeDue(db, take, now);
  await db.follow(count("waiting", waiting));
  return taken;
}

async function takeDue(db: Connection, take: NonNullable<DeliveriesInput["take"]>, now: number): Promise<Taken[]> {
  const sinks = [...new Set(take.sinks)];
  await noteDue(db, sinks, now);
  const taken = await db.all<Taken>(
    `WITH due AS (
       SELECT first.cursor, first.sink FROM unnest($2::text[]) AS wanted (sink), LATERAL (
         SELECT cursor, sink FROM batchwise_delivery
         WHERE sink = wanted.sink AND state = 'waiting' AND is_due AND next_at <= $1
         ORDER BY cursor LIMIT $3 FOR UPDATE SKIP LOCKED
       ) AS first ORDER BY first.cursor, first.sink LIMIT $3
     )
     UPDATE batchwise_delivery d SET attempt = d.attempt + 1, next_at = $4, is_due = FALSE
     FROM due WHERE d.cursor = due.cursor AND d.sink = due.sink RETURNING d.cursor, d.sink, d.attempt`,
    ...[now, sinks, atMost(take.limit), take.leaseUntil],
  );
  return taken.sort((a, b) => a.cursor - b.cursor || (a.sink < b.sink ? -1 : 1));
}

/**
 * Marks deliveries that have become due, once per attempt; then they are found by cursor. A limited
 * number at a time, in order, so that the index is the cheapest plan even if the planner expects
 * very many.
 */
async function noteDue(db: Connection, sinks: readonly string[], now: number): Promise<void> {
  for (const sink of sinks) {
    let noted = NOTED_AT_ONCE;
    while (noted === NOTED_AT_ONCE) {
      noted = await db.run(
        `UPDATE batchwise_delivery SET is_due = TRUE WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM batchwise_delivery
           WHERE sink = $1 AND state = 'waiting' AND NOT is_due AND next_at <= $2
           ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED
         ))`,
        ...[sink, now, NOTED_AT_ONCE],
      );
    }
  }
}

/** Splits reports into groups, in order, so that no delivery is in one group twice. */
function waves(reports: readonly DeliveryReport[]): DeliveryReport[][] {
  const parts: DeliveryReport[][] = [];
  const seen = new Map<string, number>();
  for (const report of reports) {
    const key = `${report.cursor} ${report.sink}`;
    const part = seen.get(key) ?? 0;
    seen.set(key, part + 1);
    const wave = parts[part];
    if (wave === undefined) parts[part] = [report];
    else wave.push(report);
  }
  return parts;
}

/** Returns the change in the number of waiting deliveries. */
async function book(db: Connection, wave: readonly DeliveryReport[]): Promise<number> {
  const column = <Value>(pick: (report: DeliveryReport) => Value): Value[] => wave.map(pick);
  const changed = await db.get<{ more: number | null }>(
    `WITH report AS (
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::float8[], $5::bigint[], $6::text[], $7::text[],
         $8::float8[]) AS r (cursor, sink, attempt, at, status_code, error, state, next_at)
     ), known AS (
       SELECT d.cursor, d.sink, d.state, d.attempt FROM batchwise_delivery d
       JOIN report r ON r.cursor = d.cursor AND r.sink = d.sink ORDER BY d.cursor, d.sink FOR UPDATE OF d
     ), logged AS (
       INSERT INTO batchwise_delivery_log
       SELECT r.cursor, r.sink, r.attempt, r.at, r.status_code, r.error
       FROM known k JOIN report r ON r.cursor = k.cursor AND r.sink = k.sink
       ON CONFLICT DO NOTHING RETURNING cursor, sink
     ), changed AS (
       UPDATE batchwise_delivery d
       SET state = r.state, next_at = CASE WHEN r.state = 'waiting' THEN r.next_at ELSE d.next_at END, is_due = FALSE
       FROM report r JOIN logged l ON l.cursor = r.cursor AND l.sink = r.sink
         JOIN known k ON k.cursor = r.cursor AND k.sink = r.sink
       WHERE d.cursor = r.cursor AND d.sink = r.sink AND k.state <> 'delivered'
         AND (r.state = 'delivered' OR r.attempt = k.attempt)
       RETURNING (r.state = 'waiting')::int - (k.state = 'waiting')::int AS more
     ) SELECT sum(more) AS more FROM changed`,
    ...[column(({ cursor }) => cursor), column(({ sink }) => sink), column(({ attempt }) => attempt)],
    ...[column(({ at }) => at), column(({ statusCode }) => statusCode), column(({ error }) => error)],
    ...[column(({ result }) => (result === "retry" ? "waiting" : result)), column(({ nextAt }) => nextAt)],
  );
  return changed?.more ?? 0;
}
