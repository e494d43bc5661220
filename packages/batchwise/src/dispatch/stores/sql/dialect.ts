// The parts of shared statements that differ between databases.

import type { StoredEnding } from "../../contract/store/rows.ts";
import type { Owner } from "../../contract/store/usage-sums.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Columns, SqlValue, Statement } from "./statement.ts";
import type { Steps } from "./steps.ts";
import type { UsageAdditions } from "./usage.ts";

/** A lane for enqueues, or one to which only parts of a batch return. */
export type LaneKind = "lane" | "group";

/** A request that ends, with the owner of its usage. */
export interface Ending extends StoredEnding, Owner {
  readonly seq: number;
  readonly status: OutcomeStatus;
  readonly charged: boolean;
}

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
  /**
   * A condition: the rows of a table for which `where` holds. Of these a database may choose the
   * first `most` by a column that no other transaction has locked.
   */
  someOf(table: string, where: string, order: string, most: number): string;
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
  /** Inserts rows, in as few round trips as possible. */
  insertRows(into: string, columns: Columns, rows: readonly (readonly SqlValue[])[]): readonly Statement[];
  /**
   * Sets columns of rows, each found by its `keys`, in as few round trips as possible. A row has
   * the values of `sets`, then what is added to `adds`, then the values of `keys`.
   */
  updateRows(
    table: string,
    columns: { readonly keys: Columns; readonly sets: Columns; readonly adds?: Columns },
    rows: readonly (readonly SqlValue[])[],
  ): readonly Statement[];
  /**
   * Suffix of `batchwise_request`: the index of those that have a tenant or a job, if there is one.
   */
  readonly withOwner: string;
  /**
   * Writes an outcome with the next cursor for each of these, a delivery for each sink, and their
   * counts. `batch`: the one in which they end; null if they waited.
   */
  record(endings: readonly Ending[], batch: number | null, sinks: readonly string[], now: number): Steps<void>;
}
