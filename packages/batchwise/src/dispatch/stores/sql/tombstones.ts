// Tombstones: rows of requests with only id and digest.

import type { PruneInput } from "../../contract/store/pruning.ts";
import { atMost } from "./statement.ts";
import { run, type Steps } from "./steps.ts";

/**
 * Deletes old tombstones; one whose outcome is still to be deleted stays for another call. Returns
 * the number of deleted ones.
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
