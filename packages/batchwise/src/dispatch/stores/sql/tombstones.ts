// Tombstones: rows of requests with only id and digest.

import type { PruneInput } from "../../contract/store/pruning.ts";
import { atMost } from "./statement.ts";
import { run, type Steps } from "./steps.ts";

/**
 * Deletes old tombstones, except those whose outcome has yet to be deleted. Returns the number
 * deleted.
 */
export function forgetTombstones({ tombstonesBefore, limit }: PruneInput): Steps<number> {
  return run(
    `DELETE FROM batchwise_request WHERE seq IN (
       SELECT seq FROM batchwise_request WHERE pruned IS NOT NULL AND created_at <= ?
         AND NOT EXISTS (SELECT 1 FROM batchwise_outcome o WHERE o.seq = batchwise_request.seq)
       ORDER BY created_at LIMIT ?
     )`,
    ...[tombstonesBefore ?? -1, atMost(limit)],
  );
}
