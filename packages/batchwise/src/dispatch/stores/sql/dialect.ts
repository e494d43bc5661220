// What the databases write differently in the statements that they share.

import type { Statement } from "./statement.ts";
import type { UsageSums } from "./usage.ts";

/** A lane that requests are enqueued in, or one that only parts of a batch go back to. */
export type LaneKind = "lane" | "group";

export interface Dialect {
  /** That the column is one of a list: `?` is the whole list. */
  among(column: string, type: "text" | "bigint"): string;
  /**
   * That a row of `batchwise_ready` is of one of a list of requests, by `seq`: `?` is the whole
   * list.
   */
  readonly readyAmong: string;
  /**
   * The rows of one value of a column that lie above a number in another, in that one's order. An
   * index of both columns has them. `value` is `?` or an expression; it comes before the number and
   * after it.
   */
  ofOne(column: string, order: string, value: string): string;
  /** That a column of truth values is true, or false, so that an index of these serves. */
  yes(column: string): string;
  no(column: string): string;
  /** At the end of a SELECT: its rows of this table are ours until the transaction ends. */
  lock(table: string): string;
  /** The same, but for those that another transaction has: they are left out. */
  lockFree(table: string): string;
  /** The same, but its rows stay only: others may use them too, and change what is no key. */
  lockKept(table: string): string;
  /**
   * Makes a lane of the name `?`, unless it is there: with a number above zero, or below for a
   * group.
   */
  newLane(kind: LaneKind): string;
  /**
   * What makes transactions that look at other batches of the account take turns, where they do not
   * anyway.
   */
  takeTurns(account: string): readonly Statement[];
  /** What adds the sums to their table, in as few round trips as the database can. */
  addUsage(sums: UsageSums): readonly Statement[];
}
