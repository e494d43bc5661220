// The parts of shared statements that differ between databases.

import type { Statement } from "./statement.ts";
import type { UsageAdditions } from "./usage.ts";

/** A lane for enqueues, or one to which only parts of a batch return. */
export type LaneKind = "lane" | "group";

export interface Dialect {
  /** A condition: the column is one of a list. `?` is the whole list. */
  among(column: string, type: "text" | "bigint"): string;
  /**
   * A condition: a row of `batchwise_ready` belongs to one of a list of requests, by `seq`. `?` is
   * the whole list.
   */
  readonly readyAmong: string;
  /**
   * A condition: rows with one value of a column and a higher number in another, in that one's
   * order. An index has both columns. `value` is `?` or an expression; it comes before the number
   * and after it.
   */
  ofOne(column: string, order: string, value: string): string;
  /** A condition: a boolean column is true, or false, in a form that uses its index. */
  yes(column: string): string;
  no(column: string): string;
  /** Suffix of a SELECT: locks its rows of this table until the transaction ends. */
  lock(table: string): string;
  /** The same, but skips rows that another transaction has locked. */
  lockFree(table: string): string;
  /**
   * The same, but only keeps the rows: others may read them, and change columns that are no key.
   */
  lockKept(table: string): string;
  /**
   * Creates a lane of the name `?` unless it exists: with a positive number, or a negative one for
   * a group.
   */
  newLane(kind: LaneKind): string;
  /**
   * Makes transactions with one purpose run one at a time, if the database does not. `purpose`: the
   * name of the account whose batches they read, or " payers".
   */
  takeTurns(purpose: string): readonly Statement[];
  /** Adds the sums to their table, in as few round trips as possible. */
  addUsage(sums: UsageAdditions): readonly Statement[];
}
