// Deliveries: writes reports of earlier attempts, then takes due ones. Two processes never take the
// same delivery for the same attempt, and neither waits for the other.

import type { DeliveriesInput } from "../../contract/store/calls.ts";
import type { DeliveryReport, DeliveryRow } from "../../contract/store/outcome-rows.ts";
import type { Dialect } from "./dialect.ts";
import { keyOf, type RawDelivery, type Taken, withOutcomes } from "./outcomes.ts";
import { atMost, type SqlValue } from "./statement.ts";
import { all, count, run, runAll, type Steps } from "./steps.ts";

const NOTED_AT_ONCE = 1_000;
const KEYS = { cursor: "bigint", sink: "text" } as const;
const LOG = { ...KEYS, attempt: "bigint", at: "float8", status_code: "bigint", error: "text" } as const;

export function* deliver(dialect: Dialect, { reports, take, now }: DeliveriesInput): Steps<DeliveryRow[]> {
  const waiting = reports.length === 0 ? 0 : yield* book(dialect, reports);
  const taken = take === null ? [] : yield* takeDue(dialect, take, now);
  yield* count("waiting", waiting);
  return yield* withOutcomes(dialect, taken);
}

/**
 * Writes reports in order, each attempt once. Returns the change in the number of waiting
 * deliveries.
 */
function* book(dialect: Dialect, reports: readonly DeliveryReport[]): Steps<number> {
  const places = [reports.map(({ cursor }) => cursor), reports.map(({ sink }) => sink)];
  const among = `${dialect.among("cursor", "bigint")} AND ${dialect.among("sink", "text")}`;
  const rows = yield* all<RawDelivery>(
    `SELECT cursor, sink, state, attempt, next_at FROM batchwise_delivery WHERE ${among}
     ORDER BY cursor, sink ${dialect.lock("batchwise_delivery")}`,
    ...places,
  );
  const logged = yield* all<Taken>(
    `SELECT cursor, sink, attempt FROM batchwise_delivery_log WHERE ${among}`,
    ...places,
  );
  const known = new Map(rows.map((row) => [keyOf(row), row]));
  const attempts = new Set(logged.map((row) => `${keyOf(row)} ${row.attempt}`));
  const changed = new Set<string>();
  const logs: SqlValue[][] = [];
  for (const report of reports) {
    const { cursor, sink, attempt, at, statusCode, error, result, nextAt } = report;
    const key = keyOf(report);
    const tried = `${key} ${attempt}`;
    const before = known.get(key);
    if (before === undefined || attempts.has(tried)) continue;
    attempts.add(tried);
    logs.push([cursor, sink, attempt, at, statusCode, error]);
    if (before.state === "delivered" || (result !== "delivered" && attempt !== before.attempt)) continue;
    const next = result === "retry" ? ({ state: "waiting", next_at: nextAt } as const) : { state: result };
    known.set(key, { ...before, ...next });
    changed.add(key);
  }
  const now = [...known].flatMap(([key, row]) => (changed.has(key) ? [row] : []));
  const sets = { state: "text", next_at: "float8", is_due: "boolean" } as const;
  const states = now.map(({ cursor, sink, state, next_at }) => [state, next_at, false, cursor, sink]);
  yield* runAll(dialect.insertRows("batchwise_delivery_log", LOG, logs));
  yield* runAll(dialect.updateRows("batchwise_delivery", { keys: KEYS, sets }, states));
  const waited = rows.filter((row) => changed.has(keyOf(row)) && row.state === "waiting");
  return now.filter(({ state }) => state === "waiting").length - waited.length;
}

function* takeDue(dialect: Dialect, take: NonNullable<DeliveriesInput["take"]>, now: number): Steps<Taken[]> {
  const due: Taken[] = [];
  for (const sink of new Set(take.sinks)) due.push(...(yield* dueOf(dialect, sink, take.limit, now)));
  due.sort((a, b) => a.cursor - b.cursor || (a.sink < b.sink ? -1 : 1));
  const taken = due.slice(0, atMost(take.limit)).map((one) => ({ ...one, attempt: one.attempt + 1 }));
  const sets = { attempt: "bigint", next_at: "float8", is_due: "boolean" } as const;
  const rows = taken.map(({ cursor, sink, attempt }) => [attempt, take.leaseUntil, false, cursor, sink]);
  yield* runAll(dialect.updateRows("batchwise_delivery", { keys: KEYS, sets }, rows));
  return taken;
}

/**
 * The first due deliveries of a sink. Before that it marks deliveries that have become due, once
 * per attempt: a limited number at a time, in order, so that the index is the cheapest plan even if
 * the planner expects very many.
 */
function* dueOf(dialect: Dialect, sink: string, limit: number, now: number): Steps<Taken[]> {
  const late = `sink = ? AND state = 'waiting' AND ${dialect.no("is_due")} AND next_at <= ?`;
  const some = dialect.someOf("batchwise_delivery", late, "next_at", NOTED_AT_ONCE);
  const note = `UPDATE batchwise_delivery SET is_due = TRUE WHERE ${some}`;
  while ((yield* run(note, sink, now)) === NOTED_AT_ONCE);
  return yield* all<Taken>(
    `SELECT cursor, sink, attempt FROM batchwise_delivery
     WHERE sink = ? AND state = 'waiting' AND ${dialect.yes("is_due")} AND next_at <= ?
     ORDER BY cursor LIMIT ? ${dialect.lockFree("batchwise_delivery")}`,
    ...[sink, now, atMost(limit)],
  );
}
