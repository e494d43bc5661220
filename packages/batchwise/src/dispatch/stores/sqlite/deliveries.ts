// Deliveries: writes reports of earlier attempts, then takes due ones. Runs inside the caller's
// transaction.

import type { DeliveriesInput } from "../../contract/store/calls.ts";
import type { DeliveryReport, DeliveryState } from "../../contract/store/outcome-rows.ts";
import type { Taken } from "../sql/outcomes.ts";
import { atMost } from "../sql/statement.ts";
import { count } from "./counters.ts";
import type { Connection } from "./database.ts";

export function bookAndTake(db: Connection, { reports, take, now }: DeliveriesInput): Taken[] {
  for (const report of reports) book(db, report);
  if (take === null) return [];
  const due = [...new Set(take.sinks)].flatMap((sink) => dueOf(db, sink, take.limit, now));
  due.sort((a, b) => a.cursor - b.cursor || (a.sink < b.sink ? -1 : 1));
  return due.slice(0, atMost(take.limit)).map(({ cursor, sink, attempt }) => {
    db.run(
      "UPDATE batchwise_delivery SET attempt = ?, next_at = ?, is_due = 0 WHERE cursor = ? AND sink = ?",
      ...[attempt + 1, take.leaseUntil, cursor, sink],
    );
    return { cursor, sink, attempt: attempt + 1 };
  });
}

/**
 * Takes the first due deliveries of a sink. Before that it marks deliveries that have become due,
 * once per attempt.
 */
function dueOf(db: Connection, sink: string, limit: number, now: number): Taken[] {
  db.run(
    "UPDATE batchwise_delivery SET is_due = 1 WHERE sink = ? AND state = 'waiting' AND is_due = 0 AND next_at <= ?",
    ...[sink, now],
  );
  return db.all<Taken>(
    `SELECT cursor, sink, attempt FROM batchwise_delivery
     WHERE sink = ? AND state = 'waiting' AND is_due = 1 AND next_at <= ? ORDER BY cursor LIMIT ?`,
    ...[sink, now, atMost(limit)],
  );
}

function book(db: Connection, { cursor, sink, attempt, at, statusCode, error, result, nextAt }: DeliveryReport): void {
  const delivery = db.get<{ state: DeliveryState["state"]; attempt: number }>(
    "SELECT state, attempt FROM batchwise_delivery WHERE cursor = ? AND sink = ?",
    ...[cursor, sink],
  );
  if (delivery === undefined) return;
  const logged = db.run(
    "INSERT OR IGNORE INTO batchwise_delivery_log VALUES (?, ?, ?, ?, ?, ?)",
    ...[cursor, sink, attempt, at, statusCode, error],
  );
  if (logged === 0 || delivery.state === "delivered") return;
  if (result !== "delivered" && attempt !== delivery.attempt) return;
  const state = result === "retry" ? "waiting" : result;
  db.run("UPDATE batchwise_delivery SET state = ? WHERE cursor = ? AND sink = ?", state, cursor, sink);
  if (result === "retry") {
    db.run(
      "UPDATE batchwise_delivery SET next_at = ?, is_due = 0 WHERE cursor = ? AND sink = ?",
      ...[nextAt, cursor, sink],
    );
  }
  count(db, "waiting", Number(state === "waiting") - Number(delivery.state === "waiting"));
}
