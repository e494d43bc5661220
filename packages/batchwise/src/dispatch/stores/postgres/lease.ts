// Taking batches to work on. SKIP LOCKED: two processes never take the same one, and never wait for
// each other.

import type { LeaseInput } from "../../contract/store/calls.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { BATCH, type RawBatch, withOrphans } from "../sql/batches.ts";
import { atMost } from "../sql/statement.ts";
import { type Connection, isStorable } from "./database.ts";
import { postgres } from "./dialect.ts";

export async function leaseBatches(db: Connection, input: LeaseInput): Promise<BatchRow[]> {
  const { owner, now, freeAt = now, leaseUntil, accounts, limit, keys } = input;
  const which =
    keys === undefined
      ? "state <> 'done' AND state <> 'quarantined' AND next_at <= $1::float8"
      : "key = ANY($1::text[])";
  const taken = await db.all<RawBatch>(
    `UPDATE batchwise_batch SET lease_owner = $2, lease_until = $3, fence = fence + 1
     WHERE id IN (
       SELECT id FROM batchwise_batch WHERE ${which} AND lease_until <= $4 AND account = ANY($5::text[])
       ORDER BY next_at, key LIMIT $6 FOR UPDATE SKIP LOCKED
     ) RETURNING ${BATCH}`,
    ...[keys?.filter(isStorable) ?? now, owner, leaseUntil, freeAt, accounts, atMost(limit)],
  );
  taken.sort((a, b) => a.nextAt - b.nextAt || (a.key < b.key ? -1 : 1));
  return db.follow(withOrphans(postgres, taken));
}
