// Lanes of groups to which no request belongs any more. Guarantees that one which a transaction is
// about to use stays.

import type { Dialect } from "./dialect.ts";
import { all, run, type Steps } from "./steps.ts";

/** Groups that one call looks at. */
const LOOK = 1_000;

/**
 * No request, in a batch or ended or waiting; and nothing was ever enqueued in it, which would have
 * left a share.
 */
const IS_FREE = `
  NOT EXISTS (SELECT 1 FROM batchwise_request r WHERE r.lane = batchwise_lane.id AND r.lane < 0)
  AND NOT EXISTS (SELECT 1 FROM batchwise_level l WHERE l.lane = batchwise_lane.id)
  AND NOT EXISTS (SELECT 1 FROM batchwise_share s WHERE s.lane = batchwise_lane.id)`;

/** Goes through all groups of a store, some with each call. */
export class GroupWalk {
  readonly #dialect: Dialect;
  /** The last that was looked at: the older a group, the higher its number. */
  #last = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * Deletes those of the next ones that are free. Says whether they were the last: the next call
   * begins anew.
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

/**
 * Locks them first: a request may have come into one before that, and only a statement begun after
 * it sees that.
 */
function* remove(dialect: Dialect, free: readonly number[]): Steps<void> {
  const among = dialect.among("id", "bigint");
  const locked = yield* all<{ id: number }>(
    `SELECT id FROM batchwise_lane WHERE ${among} ${dialect.lockFree("batchwise_lane")}`,
    free,
  );
  const ids = locked.map(({ id }) => id);
  yield* run(`DELETE FROM batchwise_lane WHERE ${among} AND ${IS_FREE}`, ids);
}
