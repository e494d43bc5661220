// Stored counters, because counting would cost more with every ended request.

import type { OutcomeStatus } from "../../contract/types.ts";
import { count as counted } from "../sql/counters.ts";
import type { Connection } from "./database.ts";

/** `done`: ended batches; `waiting`: pending deliveries; the statuses: outcomes ever recorded. */
export type CounterName = "cursor" | "done" | "waiting" | OutcomeStatus;

export function count(db: Connection, name: CounterName, more: number): void {
  db.follow(counted(name, more));
}

export function counters(db: Connection): Readonly<Record<CounterName, number>> {
  const values = { cursor: 0, done: 0, waiting: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  for (const { name, value } of db.all<{ name: CounterName; value: number }>("SELECT * FROM batchwise_counter")) {
    values[name] = value;
  }
  return values;
}
