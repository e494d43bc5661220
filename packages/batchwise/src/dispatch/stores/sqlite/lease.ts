// Leases batches. Runs inside the caller's transaction.

import type { LeaseInput } from "../../contract/store/calls.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { readBatch } from "../sql/batches.ts";
import { atMost } from "../sql/statement.ts";
import type { Connection } from "./database.ts";
import { sqlite } from "./dialect.ts";

export function leaseBatches(db: Connection, input: LeaseInput): BatchRow[] {
  const { owner, now, freeAt = now, leaseUntil, accounts, limit, keys } = input;
  const which =
    keys === undefined
      ? "state <> 'done' AND state <> 'quarantined' AND next_at <= ?"
      : "key IN (SELECT value FROM json_each(?))";
  const free = db.all<{ key: string }>(
    `SELECT key FROM batchwise_batch
     WHERE ${which} AND lease_until <= ? AND account IN (SELECT value FROM json_each(?))
     ORDER BY next_at, key LIMIT ?`,
    ...[keys === undefined ? now : JSON.stringify(keys), freeAt, JSON.stringify(accounts), atMost(limit)],
  );
  for (const { key } of free) {
    db.run(
      "UPDATE batchwise_batch SET lease_owner = ?, lease_until = ?, fence = fence + 1 WHERE key = ?",
      ...[owner, leaseUntil, key],
    );
  }
  return free.flatMap(({ key }) => db.follow(readBatch(sqlite, key)) ?? []);
}
