// What the databases write differently in the statements that they share.

import type { Statement } from "./statement.ts";

export interface Dialect {
  /** That the column is one of a list: `?` is the whole list. */
  among(column: string, type: "text" | "bigint"): string;
  /** At the end of a SELECT: its rows are ours until the transaction ends. */
  readonly lock: string;
  /** What makes transactions that look at other batches of the account take turns, where they do not anyway. */
  takeTurns(account: string): readonly Statement[];
}
