// Deletes what a prune leaves behind: lanes of groups without requests, and old tombstones, which
// are rows of requests with only id and digest. Guarantees that a group stays that a transaction is
// about to use.

import type { PruneInput } from "../../contract/store/pruning.ts";
import type { Dialect } from "./dialect.ts";
import { atMost } from "./statement.ts";
import { all, run, type Steps } from "./steps.ts";

/** Number of groups that one call looks at. */
const LOOK = 1_000;

/**
 * The group has no request in a batch, ended or waiting, and no share, which an enqueue would have
 * left.
 */
const IS_FREE = `
  NOT EXISTS (SELECT 1 FROM batchwise_request r WHERE r.lane = batchwise_lane.id AND r.lane < 0)
  AND NOT EXISTS (SELECT 1 FROM batchwise_level l WHERE l.lane = batchwise_lane.id)
  AND NOT EXISTS (SELECT 1 FROM batchwise_share s WHERE s.lane = batchwise_lane.id)`;

/** Walks through all groups of a store, some with each call. */
export class GroupWalk {
  readonly #dialect: Dialect;
  /** The last one visited. Older groups have higher numbers. */
  #last = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Deletes the unused groups among the next ones. Returns true if they were the last; then the
   * next call starts again.
   */
  *step(): Steps<boolean> {
    const seen = yield* all<{ id: number; is_free: boolean | number }>(
      `SELECT id, ${IS_FREE} AS is_free FROM batchwise_lane WHERE id < ? ORDER BY id DESC LIMIT ${LOOK}`,
      this.#last,
    );
    const isEnd = seen.length < LOOK;
    this.#last = isEnd ? 0 : (seen.at(-1)?.id ?? 0);
    const free = seen.filter(({ is_free }) => is_free).map(({ id }) => id);
    if (free.length > 0) yield* remove(this.#dialect, free);
    return isEnd;
  }
}

/** Locks them first: a request may have been added before, which only a later statement sees. */
function* remove(dialect: Dialect, free: readonly number[]): Steps<void> {
  const among = dialect.among("id", "bigint");
  const locked = yield* all<{ id: number }>(
    `SELECT id FROM batchwise_lane WHERE ${among} ${dialect.lockFree("batchwise_lane")}`,
    free,
  );
  const ids = locked.map(({ id }) => id);
  yield* run(`DELETE FROM batchwise_lane WHERE ${among} AND ${IS_FREE}`, ids);
}

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
