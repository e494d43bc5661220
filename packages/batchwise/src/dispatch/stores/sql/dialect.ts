// What the databases write differently in the statements that they share.

export interface Dialect {
  /** That the column is one of a list: `?` is the whole list. */
  among(column: string, type: "text" | "bigint"): string;
}
